"""List what all wrong results can have in common; `patterns.toml` has the words.

A test returns whether a pair has the property, or None if it would have it in any case. If a test
raises, the arrays have too few axes for it. Of the factors by which numbers are off only a plain
one is named, because any other could carry a message.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grader.checks.compare import WORDS
from grader.diagnosis.properties.case_outcomes import Fact, Floats, Pair, enough
from grader.diagnosis.properties.conditions import lead, length
from grader.steps.registry import read_toml

TABLE: Mapping[str, Mapping[str, Any]] = read_toml(Path(__file__).with_name("patterns.toml"))
LINES, NAMES = {-1: "row", -2: "column"}, {0: "first", -1: "last"}
Test = Callable[[Pair], "bool | None"]


@dataclass(frozen=True)
class Pattern:
    """A property of a pair, with the sentence and the hint that go with it.

    in_place: it is about results of the right shape. real: it is not about ids and booleans.
    """

    id: str
    says: str
    hint: str
    holds: Test
    in_place: bool
    real: bool

    def __call__(self, found: Sequence[Pair]) -> Fact | None:
        """Return the fact if all pairs have it, and enough of them for it to mean something."""
        answers = list(map(self._ask, found))
        if any(answer is False for answer in answers):
            return None
        having = [pair for pair, answer in zip(found, answers, strict=True) if answer]
        return Fact(self.id, self.says, self.hint) if enough(having) else None

    def _ask(self, pair: Pair) -> bool | None:
        if (self.in_place and not pair.same_shape) or (self.real and pair.discrete):
            return False
        try:
            return self.holds(pair)
        except (IndexError, ValueError):
            return False


def _becomes(change: Callable[[Floats], Floats]) -> Test:
    """Return a test whether the right result, changed so, is the wrong one."""
    return lambda pair: pair.alike(change(pair.expected), pair.got)


def _other_axes(pair: Pair) -> bool:
    orders = itertools.permutations(range(pair.got.ndim)) if 2 < pair.got.ndim < 5 else ()
    return any(pair.alike(pair.got.transpose(order), pair.expected) for order in orders)


def _unit_rows(pair: Pair) -> bool | None:
    divided = pair.expected / np.linalg.norm(pair.expected, axis=-1, keepdims=True)
    return pair.alike(divided, pair.got) and (pair.got.shape[-1] > 1 or None)


def _permuted(pair: Pair) -> bool:
    came, right = np.sort(pair.got.ravel()), np.sort(pair.expected.ravel())
    return pair.got.size > 2 and pair.alike(came, right)


def _holds_more(pair: Pair, where: str, axis: int) -> bool:
    """Return whether the right result is the end, or the beginning, of what came along an axis."""
    n, length = pair.expected.shape[axis], pair.got.shape[axis]
    places = np.arange(length)[length - n :] if where == "before" else np.arange(n)
    return length > n and pair.alike(np.take(pair.got, places, axis), pair.expected)


def _shifted(pair: Pair, when: str, axis: int) -> bool | None:
    """Return whether each position holds its neighbour's value."""
    one, other = (pair.got, pair.expected) if when == "late" else (pair.expected, pair.got)
    places = np.arange(pair.got.shape[axis])
    shifted = pair.alike(np.take(one, places[1:], axis), np.take(other, places[:-1], axis))
    return shifted and (len(places) > 2 or None)


def _off_by_sum(pair: Pair, axis: int) -> bool | None:
    """Return whether each slice along the axis is off by one amount of its own."""
    off = pair.got - pair.expected
    by = off.mean(axis, keepdims=True)
    same = np.isfinite(off).all() and pair.alike(off, np.broadcast_to(by, off.shape))
    return bool(same) and (_varies(by, off, axis) or None)


def _off_by_factor(pair: Pair, axis: int) -> bool | None:
    """Return whether each slice along the axis is off by one factor of its own."""
    place = np.abs(pair.expected).argmax(axis, keepdims=True)
    right, came = (np.take_along_axis(one, place, axis) for one in (pair.expected, pair.got))
    by = came / right
    if not (np.isfinite(pair.got).all() and np.isfinite(by).all() and by.all()):
        return False  # what is 0 is gone, whatever it was multiplied by
    return pair.alike(pair.expected * by, pair.got) and (_varies(by, pair.got, axis) or None)


def _varies(by: Floats, of: Floats, axis: int) -> bool:
    return of.shape[axis] > 1 and not np.allclose(by, by.flat[0])


def _all_wrong(test: Callable[[Floats], Floats]) -> Test:
    """Return a test whether all wrong numbers are of a kind."""
    return lambda pair: bool(test(pair.got[pair.wrong]).all())


def _one_size(pair: Pair) -> bool | None:
    """Return whether the wrong numbers all have one size although the right ones have several."""
    wrong, right = np.abs(pair.got[pair.wrong]), np.abs(pair.expected[pair.wrong])
    if wrong.size < 2 or not np.isfinite(wrong).all() or wrong.max() != wrong.min():
        return False
    return bool(right.max() != right.min()) or None


def _only(pair: Pair, place: int, axis: int, *, right: bool) -> bool | None:
    """Return whether only one place along an axis is right in full, or has anything wrong."""
    moved = np.moveaxis(pair.wrong, axis, 0).reshape(pair.got.shape[axis], -1)
    wrong = np.asarray(moved.any(axis=1))
    others = np.delete(wrong, place)
    if wrong[place] == right or not (others == right).all():
        return False
    return others.size > 1 or None


def _above_diagonal(pair: Pair) -> bool:
    """Return whether all that is wrong is above the diagonal; it says little of an oblong."""
    rows, columns = pair.got.shape[-2:]
    return rows == columns > 1 and not np.tril(pair.wrong).any()


def _where_masked(pair: Pair, *, allowed: bool) -> bool | None:
    """Return whether only numbers that the mask allows, or only those that it blocks, are wrong."""
    mask = pair.tried.arguments.get("mask")
    if not isinstance(mask, np.ndarray):
        return False
    seen = np.broadcast_to(mask, pair.got.shape) == allowed
    return not pair.wrong[~seen].any() and (bool((~seen).any()) or None)


def _later_new_tokens(pair: Pair) -> bool:
    """Return whether a continued sequence is right up to its first new token, and then wrong."""
    sizes = pair.tried.sizes
    if not {"t", "n_new"} <= set(sizes) or sizes["n_new"] < 2:
        return False
    return not pair.wrong[..., : sizes["t"] + 1].any()


def _swapped_shape(pair: Pair) -> bool | None:
    """Return whether the shape is right except that its last two axes are swapped."""
    *lead, rows, columns = pair.expected.shape
    return pair.got.shape == (*lead, columns, rows) and (rows != columns or None)


PLAIN = {
    **{f"{n}": float(n) for n in range(2, 11)},
    **{"1.4427 (1/ln 2)": 1 / np.log(2), "2.3026 (ln 10)": np.log(10)},
    "1.4142 (√2)": np.sqrt(2),
}
CLOSE = 1e-6
FACTOR = "Which line multiplies or divides, by what, and how many times?"
MEAN = "How many predictions are in the sum, and what is it divided by?"
OF_FLOAT32 = range(6, 9)  # right digits
SINGLE = "Which number is stored or computed as a float32, or rounded as much?"
DIGITS = "Which number is rounded, approximated, or has a small one added to it?"
ROUNDED = "Which line rounds, and who has asked for that?"


def _factor(pair: Pair) -> float:
    """Return the one factor between the right numbers and the wrong ones, or 0.0."""
    if not pair.same_shape or pair.discrete:
        return 0.0
    place = np.abs(pair.expected).argmax()
    factor = float(pair.got.flat[place] / pair.expected.flat[place])
    fits = np.isfinite(factor) and pair.alike(pair.expected * factor, pair.got)
    return factor if fits else 0.0


def _sizes(pair: Pair) -> dict[str, float]:
    """Return numbers that a case has, by their names in the lessons."""
    return {WORDS[name]: float(n) for name, n in pair.tried.sizes.items() if name in WORDS and n}


def _counts(pair: Pair) -> dict[str, float]:
    """Return what a sum may run over, by name, if the result may be a mean."""
    texts, positions = float(np.prod(lead(pair.tried))), float(length(pair.tried))
    found = dict[str, float]()
    slopes = pair.tried.arguments.get("d_out")
    if isinstance(slopes, np.ndarray) and slopes.ndim and pair.expected.ndim < 3:
        found["the number of sequences"] = texts
        found["the number of vectors"] = slopes.size / slopes.shape[-1]
    if "targets" in pair.tried.arguments or pair.expected.ndim == 0:
        found |= {"the number of texts": texts, "the number of positions": texts * positions}
        if positions > 1:
            found["the number of predictions"] = texts * (positions - 1)
    if isinstance(targets := pair.tried.arguments.get("targets"), np.ndarray):
        counted = np.count_nonzero(targets != pair.tried.arguments.get("ignore_id"))
        found["the number of targets that count"] = float(counted)
    return found


def _formulas(pairs: Sequence[Pair], varies: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield numbers that have a name, with a hint; if they vary, one for each case."""
    if not varies:
        yield from ((name, value, FACTOR) for name, value in PLAIN.items())
        return
    for numbers, hint in ((_sizes, FACTOR), (_counts, MEAN)):
        found = list(map(numbers, pairs))
        for name in sorted(set.intersection(*map(set, found))):
            values = np.array([each[name] for each in found])
            yield name, values, hint
            yield f"√{name}", np.sqrt(values), hint


def factor(pairs: Sequence[Pair]) -> Fact | None:
    """Return the surplus factor of the wrong numbers, in words if it has a name."""
    factors = list(map(_factor, pairs))
    if not factors or not all(factors) or len(set(np.sign(factors))) > 1:
        return None
    off, same = np.abs(factors), partial(np.allclose, rtol=CLOSE, atol=0)
    sign = ", and has the wrong sign" if factors[0] < 0 else ""
    varies = not same(off, off[0])
    for name, values, hint in _formulas(pairs, varies):
        for which, numbers in (("large", off), ("small", 1 / off)):
            if same(numbers, values):
                return Fact("factor", f"Every number is {name} times too {which}{sign}.", hint)
    if varies and min(pair.got.size for pair in pairs) < 2:
        return None
    which = "a factor that differs from case to case" if varies else "the same factor everywhere"
    minus = ", which is negative" * bool(sign)
    return Fact("factor", f"The numbers are the right ones times {which}{minus}.", FACTOR)


def digits(pairs: Sequence[Pair]) -> Fact | None:
    """Return how many digits are right, if all numbers are close to the right ones."""
    for decimals in range(9):
        rounded = (pair.alike(np.round(pair.expected, decimals), pair.got) for pair in pairs)
        if pairs and not any(pair.discrete for pair in pairs) and all(rounded):
            says = f"Every number is rounded to {decimals} decimal{'s' * (decimals != 1)}."
            return Fact("rounded", says, ROUNDED)
    errors = [_error(pair) for pair in pairs]
    if not errors or not 1e-12 < max(errors) < 1e-3 or any(pair.tried.single for pair in pairs):
        return None
    right = int(-np.log10(max(errors)))
    says = f"The numbers are right to about {right} digits only"
    if right in OF_FLOAT32:
        return Fact("digits", f"{says}, as many as a float32 has.", SINGLE)
    return Fact("digits", f"{says}.", DIGITS)


def _error(pair: Pair) -> float:
    """Return the largest error relative to the largest right number, or infinity without one."""
    if not pair.same_shape or pair.discrete:
        return np.inf
    largest = float(np.abs(pair.expected).max())
    if not np.isfinite(pair.got).all() or not 0 < largest < np.inf:
        return np.inf
    return float(np.abs(pair.got - pair.expected).max()) / largest


def _patterns(
    kind: str, holds: Callable[..., bool | None], **choices: Sequence[Any]
) -> list[Pattern]:
    """Return a pattern for each choice of words, which its test takes, too."""
    entry, found = TABLE[kind], []
    for values in itertools.product(*choices.values()):
        words = dict(zip(choices, values, strict=True))
        line, named = LINES.get(words.get("axis", 0)), NAMES.get(words.get("place", 1))
        says = entry["says"].format(**words, line=line, named=named)
        flags = (bool(entry.get(name)) for name in ("in_place", "real"))
        id = "_".join(map(str, (kind, *values)))
        found.append(Pattern(id, says, entry["hint"], partial(holds, **words), *flags))
    return found


# Those that account for the whole result, most telling first.
WHOLE: list[Callable[[Sequence[Pair]], Fact | None]] = [
    *_patterns("swapped_axes", _becomes(lambda x: np.swapaxes(x, -1, -2))),
    *_patterns("other_axes", _other_axes),
    *_patterns(
        "reshaped",
        lambda pair: not pair.same_shape and pair.alike(pair.expected.ravel(), pair.got.ravel()),
    ),
    factor,
    *_patterns("exponential", _becomes(np.exp)),
    *_patterns("logarithm", lambda pair: pair.alike(np.exp(pair.got), pair.expected)),
    *_patterns("shifted", _shifted, when=("late", "early"), axis=(-2, -1)),
    *_patterns("more", _holds_more, where=("behind", "before"), axis=(-1, -2)),
    *_patterns("unit_rows", _unit_rows),
    *_patterns("permuted", _permuted),
    *_patterns("added_along", _off_by_sum, axis=(-1, -2)),
    *_patterns("factor_along", _off_by_factor, axis=(-1, -2)),
]
# Those that say something of all wrong results, but not everything.
PARTLY = [
    *_patterns("not_zero", lambda pair: not pair.expected.any()),
    *_patterns("infinite", _all_wrong(np.isinf)),
    *_patterns("zero", _all_wrong(lambda x: x == 0)),
    *_patterns("one_value", _one_size),
]
PLACES = [
    *_patterns("where_blocked", partial(_where_masked, allowed=False)),
    *_patterns("where_allowed", partial(_where_masked, allowed=True)),
    *_patterns("above_diagonal", _above_diagonal),
    *_patterns("right", partial(_only, right=True), place=(0, -1), axis=(-2, -1)),
    *_patterns("wrong", partial(_only, right=False), place=(0, -1), axis=(-2, -1)),
    *_patterns("new_tokens", _later_new_tokens),
    *_patterns("shape_swapped", _swapped_shape),
]
