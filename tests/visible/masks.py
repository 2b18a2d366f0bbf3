"""Masks for checks: causal ones, padded ones, and any."""

import numpy as np

from grader.steps.inputs import Draw


def causal(length: int) -> np.ndarray:
    """The lower triangle."""
    return np.tri(length, dtype=bool)


def real_keys(place: str, length: int) -> np.ndarray:
    """(1, length): True where a key is real, False in a third of the places, in all or in none."""
    third = length if place == "all" else max(1, length // 3)
    start = {"start": 0, "middle": third, "end": length - third, "none": length, "all": 0}[place]
    places = np.arange(length)
    return ((places < start) | (places >= start + third))[None, :]


def padding(
    place: str, batch: tuple, length: int, each: tuple = ("middle", "none", "start")
) -> np.ndarray:
    """(..., 1, length): padding at that place, or at another one in each sequence."""
    count = int(np.prod(batch))
    places = each if place == "each" else (place,)
    rows = [real_keys(places[row % len(places)], length) for row in range(count)]
    return np.stack(rows).reshape(*batch, 1, length)


def any_keys(draw: Draw, t_q: int, t_k: int) -> np.ndarray:
    """Every query has a key that it may see; where there are two, also one that it may not."""
    seen = draw.uniform(t_q, t_k) < 0.5
    seen[np.arange(t_q), (np.arange(t_q) + 2) % t_k] = False
    seen[np.arange(t_q), (np.arange(t_q) + 1) % t_k] = True
    return seen


def some_mask(draw: Draw, kind: str, batch: tuple, length: int) -> np.ndarray:
    """A mask of that kind for self-attention; those with a place of padding are causal as well."""
    if kind == "causal":
        return causal(length)
    if kind == "any":
        return any_keys(draw, length, length)
    if kind == "one for all":
        return any_keys(draw, length, length)[None]
    if kind == "inner":  # without the first batch axis
        return some_mask(draw, "each", batch[1:], length)
    if kind == "keys":  # one row for all queries of a sequence
        return padding("each", batch, length)
    if kind == "row":  # and without any other axis
        return real_keys("middle", length)[0]
    if kind == "each":
        return padding("each", batch, length) & causal(length)
    return real_keys(kind, length) & causal(length)
