"""Find by how much wrong numbers are off, if it is the same for all of them.

Only a plain number is named, because any other could carry a message.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from grader.checks.compare import WORDS
from grader.diagnosis.properties.case_outcomes import Fact, Pair
from grader.diagnosis.properties.conditions import lead, length

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
