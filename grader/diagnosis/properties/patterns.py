"""List what all wrong results can have in common: a sentence, a hint, and a test of one pair.

A test returns whether a pair has the property, or None if it would have it in any case. Each
pattern was seen in programs that were written without knowing it (`tests/corpora/unseen`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from grader.diagnosis.properties.case_outcomes import Fact
from grader.diagnosis.properties.factors import factor
from grader.diagnosis.properties.pairs import Floats, Pair, enough

Test = Callable[[Pair], bool | None]


@dataclass(frozen=True)
class Pattern:
    """A property of a pair, with the sentence and the hint that go with it."""

    id: str
    says: str
    hint: str
    holds: Test

    def __call__(self, found: Sequence[Pair]) -> Fact | None:
        """Return the fact if all pairs have it, and enough of them for it to mean something."""
        answers = [self.holds(pair) for pair in found]
        if any(answer is False for answer in answers):
            return None
        having = [pair for pair, answer in zip(found, answers, strict=True) if answer]
        return Fact(self.id, self.says, self.hint) if enough(having) else None


def _becomes(change: Callable[[Floats], Floats], *, ids: bool = True) -> Test:
    """Return a test whether the right result, changed so, is the wrong one. ids: also of ids."""

    def holds(pair: Pair) -> bool:
        if pair.discrete and not ids:
            return False
        try:
            return pair.alike(change(pair.expected), pair.got)
        except ValueError:
            return False  # it has too few axes

    return holds


def _other_axes(pair: Pair) -> bool:
    orders = itertools.permutations(range(pair.got.ndim)) if 2 < pair.got.ndim < 5 else ()
    return any(pair.alike(pair.got.transpose(order), pair.expected) for order in orders)


def _reshaped(pair: Pair) -> bool:
    return not pair.same_shape and pair.alike(pair.expected.ravel(), pair.got.ravel())


def _unit_rows(pair: Pair) -> bool | None:
    divided = _becomes(lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), ids=False)
    return divided(pair) and (pair.got.shape[-1] > 1 or None)


def _permuted(pair: Pair) -> bool:
    if pair.discrete or pair.got.size < 3:
        return False
    return pair.alike(np.sort(pair.got.ravel()), np.sort(pair.expected.ravel()))


def _holds_more(pair: Pair, axis: int, *, before: bool) -> bool:
    """Return whether the right result is the end, or the beginning, of what came along an axis."""
    if pair.got.ndim != pair.expected.ndim or pair.got.ndim < -axis:
        return False
    n, length = pair.expected.shape[axis], pair.got.shape[axis]
    places = np.arange(length)[length - n :] if before else np.arange(n)
    return length > n and pair.alike(np.take(pair.got, places, axis), pair.expected)


def _shifted(pair: Pair, axis: int, *, late: bool) -> bool | None:
    """Return whether each position holds its neighbour's value."""
    if not pair.same_shape or pair.got.ndim < -axis:
        return False
    one, other = (pair.got, pair.expected) if late else (pair.expected, pair.got)
    places = np.arange(pair.got.shape[axis])
    shifted = pair.alike(np.take(one, places[1:], axis), np.take(other, places[:-1], axis))
    return shifted and (len(places) > 2 or None)


def _off_along(pair: Pair, axis: int, *, times: bool) -> bool | None:
    """Return whether each slice along the axis is off by one number of its own."""
    both = pair.expected, pair.got
    if not pair.same_shape or pair.discrete or pair.got.ndim < -axis:
        return False
    if not all(np.isfinite(one).all() for one in both):
        return False
    if times:
        place = np.abs(pair.expected).argmax(axis, keepdims=True)
        right, came = (np.take_along_axis(one, place, axis) for one in both)
        if not right.all() or not came.all():
            return False  # what is 0 is gone, whatever it was multiplied by
        by = came / right
        same = pair.alike(pair.expected * by, pair.got)
    else:
        by = (pair.got - pair.expected).mean(axis, keepdims=True)
        same = pair.alike(pair.got - pair.expected, np.broadcast_to(by, pair.got.shape))
    varies = pair.got.shape[axis] > 1 and not np.allclose(by, by.flat[0])
    return same and (varies or None)


def _all_wrong(test: Callable[[Floats], Floats]) -> Test:
    """Return a test whether all wrong numbers are of a kind."""
    return lambda pair: pair.same_shape and bool(test(pair.got[pair.wrong]).all())


def _one_size(pair: Pair) -> bool | None:
    """Return whether the wrong numbers all have one size although the right ones have several."""
    if not pair.same_shape:
        return False
    wrong, right = np.abs(pair.got[pair.wrong]), np.abs(pair.expected[pair.wrong])
    if wrong.size < 2 or not np.isfinite(wrong).all() or wrong.max() != wrong.min():
        return False
    return bool(right.size > 1 and right.max() != right.min()) or None


def _only(pair: Pair, axis: int, place: int, *, right: bool) -> bool | None:
    """Return whether only one place along an axis is right in full, or has anything wrong."""
    if not pair.same_shape or pair.got.ndim < -axis:
        return False
    moved = np.moveaxis(pair.wrong, axis, 0).reshape(pair.got.shape[axis], -1)
    wrong = np.asarray(moved.any(axis=1))
    others = np.delete(wrong, place)
    if wrong[place] == right or not (others == right).all():
        return False
    return others.size > 1 or None


def _above_diagonal(pair: Pair) -> bool:
    """Return whether all that is wrong is above the diagonal; it says little of an oblong."""
    last = pair.got.shape[-2:]
    if not pair.same_shape or len(last) < 2 or not last[0] == last[1] > 1:
        return False
    return not np.tril(pair.wrong).any()


def _where_masked(pair: Pair, *, allowed: bool) -> bool | None:
    """Return whether only numbers that the mask allows, or only those that it blocks, are wrong."""
    mask = pair.tried.arguments.get("mask")
    if not isinstance(mask, np.ndarray) or not pair.same_shape:
        return False
    try:
        seen = np.broadcast_to(mask, pair.got.shape) == allowed
    except ValueError:
        return False
    return not pair.wrong[~seen].any() and (bool((~seen).any()) or None)


def _later_new_tokens(pair: Pair) -> bool:
    """Return whether a continued sequence is right up to its first new token, and then wrong."""
    sizes = pair.tried.sizes
    if not pair.same_shape or not {"t", "n_new"} <= set(sizes) or sizes["n_new"] < 2:
        return False
    return pair.got.ndim > 0 and not pair.wrong[..., : sizes["t"] + 1].any()


def _swapped_shape(pair: Pair) -> bool | None:
    """Return whether the shape is right except that its last two axes are swapped."""
    if pair.expected.ndim < 2:
        return False
    *lead, rows, columns = pair.expected.shape
    return pair.got.shape == (*lead, columns, rows) and (rows != columns or None)


ORDER = "Write the shapes beside every line: which axes are swapped, and which should be?"
WHERE = "Take the smallest case and follow one wrong number back, line by line."
TIME = "Which positions does each line see? Count them by hand for a text of three."
SHAPE = "Print the shape after every line, for one case, and compare it with the docstring."
TAKEN = "The same number is subtracted from a whole slice: where does it come from?"
DIVIDED = "The same number multiplies or divides a whole slice: where does it come from?"
FINITE = "Which operation can make it: inf - inf, 0 times inf, 0 / 0, or exp of a large number?"
FUNCTION = "Which exp or log is one too many, or missing, on the way to the result?"
MASKED = "What happens to a number that the mask forbids, and what to its neighbours in the row?"
ALLOWED = "What happens to a score that is allowed?"
FILLED = "Which places does your code fill, and does any loop or slice end too early?"
LIMITED = "Which line limits numbers, or puts one number in the place of others?"
NEXT = "What has to change between two new tokens: position, cache, u?"

RIGHT = "The numbers are right, but"
# Those that account for the whole result, most telling first.
WHOLE: list[Callable[[Sequence[Pair]], Fact | None]] = [
    Pattern(
        "swapped_axes",
        f"{RIGHT} the last two axes are swapped.",
        ORDER,
        _becomes(lambda x: np.swapaxes(x, -1, -2)),
    ),
    Pattern("other_axes", f"{RIGHT} the axes are in another order.", ORDER, _other_axes),
    Pattern(
        "reshaped", "The numbers are right and in order; only the shape is not.", SHAPE, _reshaped
    ),
    factor,
    Pattern(
        "exponential",
        "Every number is the exponential of the right one.",
        FUNCTION,
        _becomes(np.exp, ids=False),
    ),
    Pattern(
        "logarithm",
        "Every number is the logarithm of the right one.",
        FUNCTION,
        lambda pair: not pair.discrete and pair.alike(np.exp(pair.got), pair.expected),
    ),
    *(
        Pattern(
            f"shifted_{when}_{axis}",
            f"Along axis {axis} the right numbers stand one place too {when}.",
            TIME,
            partial(_shifted, axis=axis, late=when == "late"),
        )
        for axis in (-2, -1)
        for when in ("late", "early")
    ),
    *(
        Pattern(
            f"more_{where}_{axis}",
            f"It is the right result, with more {where} it along axis {axis}.",
            SHAPE,
            partial(_holds_more, axis=axis, before=where == "before"),
        )
        for axis in (-1, -2)
        for where in ("behind", "before")
    ),
    Pattern(
        "unit_rows",
        "Each row along axis -1 is the right one, divided by its own length.",
        DIVIDED,
        _unit_rows,
    ),
    Pattern("permuted", f"{RIGHT} they stand in the wrong places.", ORDER, _permuted),
    *(
        Pattern(
            f"{'factor' if times else 'added'}_along_{axis}",
            f"In each {line}, along axis {axis}, all numbers are off by the same "
            f"{'factor' if times else 'amount'}, different for each {line}.",
            DIVIDED if times else TAKEN,
            partial(_off_along, axis=axis, times=times),
        )
        for times in (False, True)
        for axis, line in ((-1, "row"), (-2, "column"))
    ),
]

# Those that say something of all wrong results, but not everything.
PARTLY = [
    Pattern(
        "not_zero",
        "Every wrong number should be 0.",
        MASKED,
        lambda pair: pair.same_shape and not pair.discrete and not pair.expected.any(),
    ),
    Pattern(
        "infinite",
        "Every wrong number is infinite; all others are right.",
        FINITE,
        _all_wrong(np.isinf),
    ),
    Pattern(
        "zero",
        "Every wrong number is 0; all others are right.",
        FILLED,
        lambda pair: not pair.discrete and _all_wrong(lambda x: x == 0)(pair),
    ),
    Pattern("one_value", "All wrong numbers have the same absolute value.", LIMITED, _one_size),
]

PLACES = [
    Pattern(
        "where_blocked",
        "Only places that the mask blocks are wrong.",
        MASKED,
        partial(_where_masked, allowed=False),
    ),
    Pattern(
        "where_allowed",
        "Only places that the mask allows are wrong.",
        ALLOWED,
        partial(_where_masked, allowed=True),
    ),
    Pattern("above_diagonal", "Only numbers above the diagonal are wrong.", TIME, _above_diagonal),
    *(
        Pattern(
            f"{'right' if right else 'wrong'}_{place}_{axis}",
            f"Along axis {axis}, only the {'first' if place == 0 else 'last'} place is "
            f"{'right in full' if right else 'wrong'}.",
            WHERE,
            partial(_only, axis=axis, place=place, right=right),
        )
        for axis in (-2, -1)
        for place in (0, -1)
        for right in (True, False)
    ),
    Pattern(
        "new_tokens",
        "The prompt and the first new token are right; a later one is wrong.",
        NEXT,
        _later_new_tokens,
    ),
]

# Facts for results that no other fact describes.
WEAK = [
    Pattern(
        "shape_swapped",
        "The last two axes of the shape have changed places, and not all numbers are right.",
        ORDER,
        _swapped_shape,
    ),
]
