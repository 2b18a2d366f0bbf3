"""Compare a decoder with transformers' model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.against import Floats, Model
from grader.demos.gpt2.running import OwnDecoder
from grader.demos.submission_worker import NotReady

GREEDY = 12
SLOW = (
    "The logits are float64 though the weights are float32: somewhere a float64 number or array "
    "makes float64 of the rest, as np.sqrt(2.0) and angles do and 2.0**0.5 does not. From there "
    "on NumPy makes a float64 copy of every weight in every call, which is many times slower."
)
Result = tuple[bool, str, str]


@dataclass(frozen=True)
class Comparison:
    """The result of one comparison. note: a further observation."""

    what: str
    ok: bool
    said: str
    note: str = ""


def findings(
    decoder: OwnDecoder, other: Model, ids: Sequence[int], room: int
) -> Iterator[Comparison]:
    """Yield the comparisons one by one; room: how many tokens may follow these."""
    expected = other.logits(ids)
    allowed = other.tolerance(expected, decoder.n_layers)
    names = decoder.functions
    ways: dict[str, Callable[[], Result]] = {
        names.logits: lambda: _compare_logits(decoder.logits(ids), expected, allowed),
        f"{names.step}, token by token": lambda: _compare_logits(
            stepwise(decoder, ids), other.stepwise(ids), allowed
        ),
    }
    if room:
        theirs, logits = other.greedy(ids, min(room, GREEDY))
        ways[f"{names.step}, writing"] = lambda: _compare_tokens(
            decoder.greedy(ids, len(theirs)), theirs, logits, allowed
        )
    for what, compare in ways.items():
        try:
            yield Comparison(what, *compare())
        except NotReady as failure:
            yield Comparison(what, False, str(failure))


def _compare_logits(got: Floats, expected: Floats, allowed: float) -> Result:
    """Compare logits (T, V) with the expected ones."""
    apart = np.abs(got.astype(np.float64) - expected).max(axis=-1)
    wrong = ~(apart <= allowed)  # NaN is wrong
    largest = float(apart.max())
    if wrong.any():
        return False, _difference(apart, wrong, largest, float(np.abs(expected).max())), ""
    positions = "1 position" if len(apart) == 1 else f"{len(apart)} positions"
    slow = got.dtype.itemsize > expected.itemsize
    return True, f"agrees at {positions}, at most {largest:.1e} apart", SLOW if slow else ""


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


def stepwise(decoder: OwnDecoder, ids: Sequence[int]) -> Floats:
    """Return the logits of a sequence that is read token by token: (T, V)."""
    rows, cache = [], decoder.new_cache()
    for token in ids:
        logits, cache = decoder.step([token], cache)
        rows.append(logits)
    return np.concatenate(rows)


def _compare_tokens(got: list[int], expected: list[int], logits: Floats, allowed: float) -> Result:
    """Compare greedy tokens; where two logits are nearly equal, accept either token."""
    for index, (mine, theirs) in enumerate(zip(got, expected)):
        if mine != theirs:
            if logits[index][theirs] - logits[index][mine] <= 2 * allowed:
                return True, f"agrees, the same {index} tokens and then a tie", ""
            return False, f"differs, another token {index + 1} than transformers'", ""
    return True, f"agrees, the same {len(got)} tokens", ""
