"""State laws about values: right, right in float32, right when large, a distribution, an error.

Also the law of losses: no prediction has seen its answer.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, WrongResult, as_array, largest, show_array
from grader.checks.laws.cases import (
    Answered,
    Case,
    Function,
    ask_all,
    is_right,
    name_of,
    noting,
    returned,
    show_case,
    values_are_right,
)
from grader.checks.tolerances import EXACT, FLOAT32, LARGE, VERY_LARGE, Tolerance
from grader.isolation.client import Raised
from grader.steps.inputs import Draw, as_single, map_arrays
from grader.steps.tree import leaves

SUM = Tolerance(0.0, 2e-12)  # weights may be divided by their sum plus 1e-12
ROUNDING = 2.0**-24  # of a number in float32
NUDGES = 4  # times that a case is rounded anew
MARGIN = 8.0
MOST_WIDENED = 50.0  # where a little rounding makes another choice, as at a threshold
TOTAL = Tolerance(0.0, 1e-7)
EITHER = (
    "Either the loss is not the mean of -log p (fix the values first), or a prediction has seen "
    "its answer."
)


def agrees(function: Function, cases: Sequence[Case], *, tolerance: Tolerance = EXACT) -> None:
    """Demand the reference's result."""
    results = ask_all(function, [case.arguments for case in cases])
    for case, got in zip(cases, results, strict=True):
        is_right(function, case, got, tolerance)


def agrees_in_float32(function: Function, cases: Sequence[Case], *, norms: bool = False) -> None:
    """Demand a correct result, to float32's precision, when all numbers are float32.

    A small number in a result may be the difference of others as large as the largest, and has
    their rounding. norms: the function has layer norms, which magnify the rounding of vectors
    whose numbers are small or nearly equal.
    """
    rounded = [one.once("single", functools.partial(_round_to_single, one)) for one in cases]
    results = ask_all(function, [map_arrays(case.arguments, as_single) for case in rounded])
    for case in rounded:
        right = case.right_result(function)
        # Several results are compared for the size of each anyway.
        size = largest(right) if isinstance(right, np.ndarray) else 0.0
        tolerance = FLOAT32.for_size(size)
        if norms:
            work = functools.partial(_factor, function, case, tolerance)
            tolerance = tolerance.widened(case.once(("factor", name_of(function)), work))
        with noting("With float32 inputs: "):
            got = next(results)
            is_right(function, case, got, tolerance)


def _factor(function: Function, case: Case, tolerance: Tolerance) -> float:
    """Return how many times as wide the tolerance must be for this case; usually 1.

    What right code loses in float32 is about what the reference's result changes if each number of
    the arguments is rounded: never more than 5 times that, in 2,700 cases.
    """
    if case.is_stored:
        return 1.0
    right = case.right_result(function)
    if isinstance(right, (tuple, list, dict)):
        tolerance = tolerance.for_size(largest(right))
    lost = [_distance(right, nudged, tolerance) for nudged in _nudged(function, case)]
    return float(np.clip(MARGIN * max(lost), 1.0, MOST_WIDENED))


def _nudged(function: Function, case: Case) -> Iterator[Any]:
    """Yield the reference's results for arguments whose numbers are rounded anew at random."""
    for number in range(NUDGES):
        draw = case.draw(("nudged", number))

        def nudge(array: NDArray[Any], draw: Draw = draw) -> NDArray[Any]:
            signs = draw.random.randint(0, 2, array.shape) * 2 - 1
            return array * (1 + signs * ROUNDING) if array.dtype.kind == "f" else array

        yield case.right_result(function, map_arrays(case.arguments, nudge))


def _distance(right: Any, other: Any, tolerance: Tolerance) -> float:
    """Return how far apart two results are, as a share of the tolerance."""
    shares = [0.0]
    for one, two in zip(leaves(right), leaves(other), strict=True):
        wanted, got = np.asarray(one), np.asarray(two)
        if wanted.dtype.kind == "f":
            both = np.isfinite(wanted) & np.isfinite(got)
            apart = np.abs(wanted[both] - got[both]) / tolerance.allowed(wanted[both])
            shares.append(float(apart.max(initial=0.0)))
    return max(shares)


def _round_to_single(case: Case) -> Case:
    """Return the case with numbers that float32 can hold, so that only the function rounds.

    Rounding a score of 1000 changes its weight more than the tolerance allows. The visible suite
    has stored no results for other numbers, and its own are small there.
    """
    if case.is_stored:
        return case
    return case.changed(**map_arrays(case.arguments, lambda a: as_single(a).astype(a.dtype)))


def stays_right_when_large(
    function: Function, cases: Sequence[Case], *, cancels: bool = True
) -> None:
    """Demand a finite and correct result if numbers are very large or very far apart.

    cancels: whether one of several results may be the small difference of large products.
    """
    results = ask_all(function, [case.arguments for case in cases])
    for case, got in zip(cases, results, strict=True):
        size = largest(case.arguments)
        with noting("With very large numbers: " if size > VERY_LARGE else ""):
            is_right(function, case, got, LARGE, size=size if cancels else 0.0)


def is_distribution(function: Function, cases: Sequence[Case]) -> None:
    """Demand that the result is non-negative and sums to 1 along the last axis, to 1e-12."""
    results = ask_all(function, [case.arguments for case in cases])
    for case, value in zip(cases, results, strict=True):
        array = as_array(value)
        if array is None or not array.ndim or array.dtype.kind != "f":
            raise returned(function, value, "; expected probabilities.")
        if not (array >= 0).all():
            got = show_array("got", array, ~(array >= 0))
            shown = show_case(function, case.arguments, got)
            raise Broken("Some weights are negative.", "", shown)
        off = np.abs(array.sum(axis=-1) - 1)
        if not (off <= case.within(SUM).atol).all():
            raise Broken(
                "The weights of some slices do not sum to 1.",
                f"The weights of some slices do not sum to 1: one is off by {np.nanmax(off):.3g}.",
                show_case(function, case.arguments, show_array("got", array)),
            )
        values_are_right(function, case, Answered(case.arguments, value))


def rejects(function: Function, cases: Sequence[Case], because: str) -> None:
    """Demand a ValueError for bad arguments. because: what is wrong with them."""
    for case in cases:
        try:
            with noting(f"{because}: expected a ValueError. "):
                value = function(**case.arguments)
        except Raised as raised:
            if "ValueError" in raised.kinds:
                continue
            other = raised.known or "another exception"
            raise WrongResult(
                f"{because}: expected a ValueError, but {other} was raised."
            ) from None
        # A sequence in chunks comes back as a whole: then report what the last call returned.
        last = getattr(function, "pick_last", None)
        value, more = last(value, case.arguments) if last else (value, "")
        start = f"{because}: expected a ValueError, but {name_of(function)} returned"
        raise WrongResult.unexpected(start, value, f"{more}.")


def probabilities_add_up(
    function: Function, cases: Sequence[Case], *, only_last: bool = False
) -> None:
    """Demand that the probabilities of all possible next tokens add up to 1.

    n predictions of mean loss L give a sequence the probability exp(-n·L). The sum over all
    possible last tokens is the probability of the sequence before them. It is not if a prediction
    has seen its answer or a later token. only_last: look at the last position alone.
    """
    for case in cases:
        tokens, asked = case.arguments["tokens"], list[Answered]()
        for end in range(len(tokens) - 1 if only_last else 1, len(tokens)):
            before = _log_probability(function, case, tokens[:end], asked)
            texts = [np.append(tokens[:end], i) for i in range(int(case.sizes["vocabulary"]))]
            after = [_log_probability(function, case, text, asked) for text in texts]
            with np.errstate(all="ignore"):
                total = float(np.exp(np.logaddexp.reduce(after) - before))
            if not abs(total - 1) <= case.within(TOTAL).atol:
                which = (
                    f"The probabilities of all tokens that may stand at position {end}, as the "
                    "losses have them"
                )
                raise Broken(
                    f"{which}, do not sum to 1. {EITHER}",
                    f"{which}, sum to {total:.6g}; they should sum to 1. {EITHER}",
                    show_case(function, {**case.arguments, "tokens": texts[0]}),
                )
        values_are_right(function, case, asked[0], asked[1:])


def _log_probability(
    function: Function, case: Case, text: NDArray[Any], asked: list[Answered]
) -> float:
    """Return the sequence's log probability given its first token, from the others' mean loss."""
    if len(text) < 2:
        return 0.0
    arguments = {**case.arguments, "tokens": text}
    value = function(**arguments)
    asked.append(Answered(arguments, value))
    loss = as_array(value)
    if loss is None or loss.ndim:
        raise returned(function, value, "; expected a single number.")
    return -(len(text) - 1) * float(loss)
