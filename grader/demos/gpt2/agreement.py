"""Compare two tables of logits, and explain the result in a sentence with the number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.problems import CodeFailed
from grader.demos.gpt2.running import Decoder

if TYPE_CHECKING:
    from grader.demos.gpt2.against import Network

Floats = NDArray[np.floating[Any]]
Way = Callable[[Sequence[int], int], list[int]]
# Of the largest logit: what rounding may do in as many layers as GPT-2 has.
TOLERANCES = {4: 1e-6, 8: 1e-10}
LAYERS = 3
GREEDY = 12
SLOW = (
    "The logits are float64 though the weights are float32: somewhere a float64 number or array "
    "makes float64 of the rest, as np.sqrt(2.0) and angles do and 2.0**0.5 does not. From there "
    "on NumPy makes a float64 copy of every weight in every call, which is many times slower."
)


@dataclass(frozen=True)
class Comparison:
    """The result of one comparison. note: a further observation."""

    what: str
    ok: bool
    said: str
    note: str = ""


def tolerance(logits: Floats, n_layers: int, size: int) -> float:
    """Return how far apart right logits may be, for numbers with so many bytes."""
    return TOLERANCES[size] * max(1.0, float(np.abs(logits).max())) * max(1.0, n_layers / LAYERS)


def compare_logits(what: str, got: Floats, expected: Floats, allowed: float) -> Comparison:
    """Compare logits (T, V) with the expected ones."""
    apart = np.abs(got.astype(np.float64) - expected).max(axis=-1)
    wrong = ~(apart <= allowed)  # NaN is wrong
    largest = float(apart.max())
    if not wrong.any():
        said = f"agrees at {_positions(len(apart))}, at most {largest:.1e} apart"
        return Comparison(what, True, said, SLOW if got.dtype.itemsize > expected.itemsize else "")
    return Comparison(
        what, False, _difference(apart, wrong, largest, float(np.abs(expected).max()))
    )


def _difference(apart: Floats, wrong: NDArray[np.bool_], largest: float, scale: float) -> str:
    if np.isnan(largest):
        return f"is NaN from position {int(np.isnan(apart).argmax())} on"
    first, count = int(wrong.argmax()), int(wrong.sum())
    where = "at every position"
    if count < len(wrong):
        where = f"at {count} of {len(wrong)} positions, first at {first}"
    hint = ""
    if first == 0 and not wrong[-1]:
        hint = "; the last is right, so an earlier one may see what comes after it"
    elif first > 0 and wrong[first:].all():
        hint = ", and at all after it"
    return f"differs by up to {largest:.2g} (the largest logit is {scale:.2g}) {where}{hint}"


def _positions(count: int) -> str:
    return "1 position" if count == 1 else f"{count} positions"


def findings(
    decoder: Decoder, other: Network, ids: Sequence[int], room: int
) -> Iterator[Comparison]:
    """Yield the comparisons one by one; room: how many tokens may follow these."""
    expected = other.logits(ids)
    allowed = other.tolerance(expected, decoder.n_layers)
    names = decoder.functions
    yield _try_comparison(
        names.logits,
        lambda what: compare_logits(what, decoder.logits(ids), expected, allowed),
    )
    yield _try_comparison(
        f"{names.step}, token by token",
        lambda what: compare_logits(what, stepwise(decoder, ids), other.stepwise(ids), allowed),
    )
    if room:
        theirs = other.greedy(ids, min(room, GREEDY))
        ways: dict[str, Way] = {
            f"{names.generate or names.step}, with the cache": decoder.generate,
            f"{names.logits} again and again": partial(continue_uncached, decoder),
        }
        for name, way in ways.items():
            yield _try_comparison(name, partial(_compare_continuation, way, ids, theirs, allowed))


def _compare_continuation(
    way: Way,
    ids: Sequence[int],
    theirs: tuple[list[int], Floats],
    allowed: float,
    what: str,
) -> Comparison:
    return _same(what, way(ids, len(theirs[0])), *theirs, allowed)


def _try_comparison(what: str, compare: Callable[[str], Comparison]) -> Comparison:
    try:
        return compare(what)
    except CodeFailed as failure:
        return Comparison(what, False, str(failure))


def stepwise(decoder: Decoder, ids: Sequence[int]) -> Floats:
    """Return the logits of a sequence that is read token by token: (T, V)."""
    rows, cache = [], decoder.new_cache()
    for token in ids:
        logits, cache = decoder.step([token], cache)
        rows.append(logits)
    return np.concatenate(rows)


def continue_uncached(decoder: Decoder, ids: Sequence[int], n_new: int) -> list[int]:
    """Return the most likely continuation, from the logits of the whole sequence for each token."""
    text = list(ids)
    for _ in range(n_new):
        text.append(int(decoder.logits(text, last=1)[-1].argmax()))
    return text[len(ids) :]


def _same(
    what: str, got: list[int], expected: list[int], logits: Floats, allowed: float
) -> Comparison:
    """Compare greedy tokens; where two logits are nearly equal, accept either token."""
    for index, (mine, theirs) in enumerate(zip(got, expected)):
        if mine != theirs:
            if logits[index][theirs] - logits[index][mine] <= 2 * allowed:
                return Comparison(what, True, f"agrees, the same {index} tokens and then a tie")
            return Comparison(what, False, f"differs, another token {index + 1} than transformers'")
    return Comparison(what, True, f"agrees, the same {len(got)} tokens")
