"""Checks that many functions have, in the same words.

    test_softmax_float32 = standard.in_float32("softmax", scores, SIZES)

The first argument is the function's name, or makes it from the student and a case, as for a cache.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from grader.checks import laws
from grader.checks.student import Student
from grader.checks.suites import Given
from grader.steps.inputs import Build, Sizes

Maker = Callable[[Student, laws.Case], Any]
Function = str | Maker
Check = Callable[[Student, Given], None]


def _standard(title: str, law: Callable[..., None]) -> Callable[..., Check]:
    """Return what makes the check of that title and law for a function, from inputs and sizes."""

    def make(function: Function, build: Build, sizes: Sequence[Sizes], /, **options: Any) -> Check:
        def check(student, given):
            cases = given.cases(build, sizes)
            if isinstance(function, str):
                law(getattr(student, function), cases, **options)
            else:
                for case in cases:
                    law(function(student, case), [case], **options)

        check.__doc__ = title
        return check

    return make


def _agrees(function: Callable[..., Any], cases: Sequence[laws.Case], **options: Any) -> None:
    law = laws.agrees_in_parts if isinstance(function, laws.InChunks) else laws.agrees
    law(function, cases, **options)


in_any_shape = _standard(
    "Any number of batch axes, and sizes of 1, give the right results.", _agrees
)
in_a_batch = _standard(
    "What one sequence of a batch gets does not depend on the others.", laws.rows_are_independent
)
no_future = _standard(
    "What a position gets does not depend on later positions.", laws.future_does_not_matter
)
prefix_alone = _standard(
    "The first positions by themselves give the same as within the whole.",
    laws.prefix_gives_the_same,
)
in_float32 = _standard(
    "float32 arguments give results that are right to float32's precision.", laws.agrees_in_float32
)
when_large = _standard(
    "Numbers and scores of up to a million in size give finite, right results.",
    laws.stays_right_when_large,
)
summed_over_a_batch = _standard(
    "Parameters get the sum over the sequences of a batch; each x keeps its own gradient.",
    partial(laws.batch_adds_up, batched=("d_out", "x"), own=("d_x",)),
)
untouched = _standard(
    "Arguments may be read-only or have gaps in memory, and are never changed.",
    laws.leaves_arguments_alone,
)


def refused(function: Function, build: Build, sizes: Sequence[Sizes], because: str) -> Check:
    """Return the check that bad arguments raise a ValueError. because: what is wrong with them."""
    make = _standard(f"{because}: a ValueError.", laws.rejects)
    return make(function, build, sizes, because=because)


def when_repeated(
    function: str, build: Build, sizes: Sequence[Sizes], also: Sequence[Sizes] | None = None
) -> Check:
    """Return the check that a function remembers nothing. also: other sizes to ask for between."""

    def check(student, given):
        """The same question gets the right answer again, and an earlier answer stays as it was."""
        cases = given.cases(build, sizes)
        others = given.cases(build, sizes if also is None else also, salt="also")
        laws.answers_the_same_again(student, getattr(student, function), cases, others)

    return check


def separate(function: Maker, build: Build, sizes: Sequence[Sizes], salt: str) -> Check:
    """Return the check that caches share nothing. salt: for the texts of the others."""

    def check(student, given):
        """Two caches never share state, and earlier results stay as they were."""
        cases = given.cases(build, sizes) + given.cases(build, sizes, salt=salt)
        laws.are_separate(student, [function(student, case) for case in cases], cases)

    return check


def agrees_in_parts(student: Student, function: Maker, cases: Sequence[laws.Case]) -> None:
    """Demand right results of what `function` makes of the student for each case."""
    for case in cases:
        laws.agrees_in_parts(function(student, case), [case])
