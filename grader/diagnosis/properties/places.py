"""Find where the wrong numbers are: in a row, above the diagonal, behind the mask, ...

Each function returns whether a pair has the property, or None if the array is too small for it to
mean anything.
"""

from __future__ import annotations

import numpy as np

from grader.diagnosis.properties.pairs import Pair


def _places(pair: Pair, axis: int) -> list[bool] | None:
    """Return whether anything is wrong at each place along an axis."""
    if not pair.same_shape or pair.got.ndim < -axis:
        return None
    moved = np.moveaxis(pair.wrong, axis, 0).reshape(pair.got.shape[axis], -1)
    return [bool(one.any()) for one in moved]


def only_right(pair: Pair, axis: int, place: int) -> bool | None:
    """Return whether only one position along an axis is right."""
    wrong = _places(pair, axis)
    if wrong is None or wrong.pop(place):
        return False
    return all(wrong) and (len(wrong) > 1 or None)


def only_wrong(pair: Pair, axis: int, place: int) -> bool | None:
    """Return whether only one position along an axis has anything wrong."""
    wrong = _places(pair, axis)
    if wrong is None or not wrong.pop(place) or any(wrong):
        return False
    return len(wrong) > 1 or None


def sides(pair: Pair) -> tuple[bool, bool, bool] | None:
    """Return whether anything is wrong below, on and above the last corner's diagonal."""
    if not pair.same_shape or pair.got.ndim < 2 or min(pair.got.shape[-2:]) < 2:
        return None
    rows, columns = pair.got.shape[-2:]
    ahead = np.arange(columns) - np.arange(rows)[:, None] - (columns - rows)
    below, on, above = (
        bool(pair.wrong[..., place].any()) for place in (ahead < 0, ahead == 0, ahead > 0)
    )
    return below, on, above


def are_blocked(pair: Pair, *, allowed: bool) -> bool | None:
    """Return whether only numbers that the mask allows, or only those that it blocks, are wrong."""
    mask = pair.tried.arguments.get("mask")
    if not isinstance(mask, np.ndarray) or not pair.same_shape:
        return False
    try:
        seen = np.broadcast_to(mask, pair.got.shape) == allowed
    except ValueError:
        return False
    return not pair.wrong[~seen].any() and (bool((~seen).any()) or None)


def zero_rows(pair: Pair) -> bool | None:
    """Return whether only rows are wrong that should be all 0."""
    if not pair.same_shape or pair.got.ndim < 2:
        return False
    zero = (pair.expected == 0).all(axis=-1)
    return not pair.wrong[~zero].any() and (bool((~zero).any()) or None)


def mask_says(pair: Pair, value: float) -> bool | None:
    """Return whether all wrong places of a mask have the same value."""
    if pair.kind != "b" or not pair.same_shape:
        return False
    return bool((pair.got[pair.wrong] == value).all())


def later_new_tokens(pair: Pair) -> bool | None:
    """Return whether a continued sequence is right up to its first new token, and then wrong."""
    sizes = pair.sizes
    if not pair.same_shape or not {"t", "n_new"} <= set(sizes) or sizes["n_new"] < 2:
        return False
    wrong = _places(pair, -1)
    return wrong is not None and not any(wrong[: sizes["t"] + 1])


def _only(pair: Pair, below: bool, on: bool, above: bool) -> bool | None:
    found = sides(pair)
    return found is not None and found == (below, on, above)


def above(pair: Pair) -> bool | None:
    """Return whether things are wrong above the diagonal only."""
    return _only(pair, below=False, on=False, above=True)


def below(pair: Pair) -> bool | None:
    """Return whether things are wrong below the diagonal only."""
    return _only(pair, below=True, on=False, above=False)


def on(pair: Pair) -> bool | None:
    """Return whether things are wrong on the diagonal only."""
    return _only(pair, below=False, on=True, above=False)


def off(pair: Pair) -> bool | None:
    """Return whether things are wrong on both sides of the diagonal, but not on it."""
    return _only(pair, below=True, on=False, above=True)
