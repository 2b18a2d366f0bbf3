"""State laws about state: the same answer again, and unchanged arguments."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from grader.checks.compare import Broken, matches, show_array
from grader.checks.laws.cases import (
    Case,
    Function,
    ask_all,
    is_right,
    name_of,
    names_of,
    noting,
    showing,
)
from grader.checks.laws.values import agrees
from grader.checks.student import Student, StudentFunction
from grader.checks.tolerances import EXACT, Tolerance
from grader.isolation.client import Answer, Raised
from grader.isolation.wire import Laid
from grader.report.records import Evidence
from grader.steps.inputs import Arguments, map_arrays
from grader.steps.tree import is_branch, name_path, pairs


def answers_the_same_again(
    student: Student, function: StudentFunction, cases: Sequence[Case], also: Sequence[Case]
) -> None:
    """Demand that f(a), f(b), f(a) gives right answers, and leaves the first unchanged.

    also: other arguments of the same shapes. They must get their own answer even if they come in
    the same arrays as the first ones.
    """
    for case, other in zip(cases, also, strict=True):
        first = function.answer(case.arguments, keep=True)
        agrees(function, [other])
        still(function, first.value, student.fetch(first.kept))
        if case.witness is None:  # a diagnosis asks the same in the next call
            with noting("Called for the first time with these arguments: "):
                is_right(function, case, first.value)
        with noting("Called a second time with the same arguments: "):
            agrees(function, [case])
        again = _ask_again(function, case, other)
        if case.witness is None:
            with noting("Called a third time with the same arguments: "):
                is_right(function, case, again.first)
        with noting("Called again with the same arrays, which now hold other numbers: "):
            is_right(function, other, again.value)


def _ask_again(function: StudentFunction, case: Case, other: Case) -> Answer:
    """Return the answer for the other arguments, in the arrays that held the first ones."""
    try:
        return function.answer(case.arguments, then=other.arguments, both=True)
    except Raised as raised:
        if raised.lines:
            raise
        # No line of the code raised: its arrays do not take the other numbers any more.
        told = f"{function.name} changed the shape of an array that it was given."
        raise Broken(told) from None


class Noted:
    """A student's function that notes its whole answers. keep: the worker keeps the results."""

    def __init__(self, step: StudentFunction, *, keep: bool = False) -> None:
        self.step, self.keep = step, keep
        self.answers: list[Answer] = []

    def __call__(self, **given: Any) -> Any:
        """Return the result."""
        self.answers.append(self.step.answer(given, keep=self.keep))
        return self.answers[-1].value


def still(function: Function, before: Any, now: Any, names: Sequence[str] = ()) -> None:
    """Raise Broken unless an earlier result is unchanged."""
    name, names = name_of(function), names or names_of(function)
    before = tuple(before) if isinstance(before, list) else before
    try:
        with showing(name, {}):
            matches(before, now, Tolerance(0, 0), name=name, names=names)
    except Broken as broken:
        told = (
            f"An array that {name} had returned changed when {name} was called again: "
            "results share memory."
        )
        raise Broken(told, evidence=broken.evidence) from None


LAYOUTS = {
    "read-only": "C",
    "in Fortran order": "F",
    "every second element of a larger array": "strided",
    "a reversed view": "reversed",
}


def leaves_arguments_alone(function: Function, cases: Sequence[Case]) -> None:
    """Demand correct results on read-only arrays of any layout, and unchanged writable ones."""
    tolerance = getattr(function, "tolerance", EXACT)
    unchanged = getattr(function, "call_unchanged", None) or partial(call_unchanged, function)
    for case in cases:
        lays = [partial(Laid, layout=layout, writable=False) for layout in LAYOUTS.values()]
        values = ask_all(function, [map_arrays(case.arguments, lay) for lay in lays])
        for words in LAYOUTS:
            note = f"With arguments that are {words}: "
            try:
                value = next(values)
            except Raised as raised:
                if _is_about_writing(raised) and _takes(function, case.arguments):
                    raise Broken(f"{note}the function writes into them.") from None
                raise
            with noting(note):
                is_right(function, case, value, tolerance)
        value = unchanged(case.arguments)
        if case.witness is None:  # a diagnosis has asked the same four times
            with noting("With arguments that can be written into: "):
                is_right(function, case, value, tolerance)


def _is_about_writing(raised: Raised) -> bool:
    return "read-only" in raised.text or "writeable" in raised.text


def _takes(function: Function, arguments: Arguments) -> bool:
    """Return whether a call with arguments that can be written into raises nothing of the kind.

    It does where the array that cannot be written into is the function's own.
    """
    try:
        function(**arguments)
    except Raised as raised:
        return not _is_about_writing(raised)
    return True


def call_unchanged(function: Any, arguments: Arguments) -> Any:
    """Return the result of a student's function if the call left its arguments unchanged."""
    answer = function.answer(arguments, arguments=True)
    match answer.arguments:
        case [list(args), dict(kwargs)]:
            after = dict(zip(function.function.takes, args, strict=False)) | kwargs
        case _:
            raise Broken(f"{function.name} lost its arguments.")
    now = {name: after.get(name) for name in arguments}
    for path, one, other in pairs(arguments, now):
        _check_unchanged(function, name_path(path), one, other)
    return answer.value


def _check_unchanged(function: StudentFunction, name: str, before: Any, after: Any) -> None:
    """Raise Broken if a part of the arguments is another one after the call."""
    told = f"{function.name} changed its argument {name}"
    if isinstance(before, dict) and isinstance(after, dict) and after.keys() > before.keys():
        # The key is the judged code's own choice, so it could carry a message.
        more = next(key for key in after if key not in before)
        raise Broken(f"{told}: a key was added to it.", f"{told}: {more!r} was added to it.")
    if is_branch(before):
        raise Broken(f"{told}.")
    if not isinstance(before, np.ndarray) or (
        isinstance(after, np.ndarray) and np.array_equal(before, after, equal_nan=False)
    ):
        return
    evidence = None
    if isinstance(after, np.ndarray) and after.shape == before.shape:
        shown = show_array(f"{name} before", before)
        wrong = np.asarray(before != after)
        evidence = Evidence(function.name, (), (shown,), (show_array("after", after, wrong),))
    raise Broken(f"{told}.", evidence=evidence)
