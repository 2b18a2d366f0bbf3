"""The overview in the terminal: a part that was not begun takes one line."""

import io

import pytest

from grader.records import Status, StepVerdict
from grader.terminal import Overview, Printer

LATER = {"Part II: rest": ["step09_a", "step10_b", "step11_c"]}


def rows(*statuses, message=""):
    """What is printed for step 8, which passed, and a later part's steps of these statuses."""
    printer = Printer(io.StringIO())
    overview = Overview(printer, LATER)
    overview(StepVerdict("step08_z", "Before", Status.PASSED, 4.0, 4.0, (), None, ""))
    for name, status in zip(LATER["Part II: rest"], statuses, strict=True):
        overview(StepVerdict(name, name[7:].upper(), status, 0.0, 2.5, (), None, message))
    return printer.file.getvalue().splitlines()


def test_part_that_was_not_begun_takes_one_line():
    first, *others = rows(*[Status.NOT_ATTEMPTED] * 3)
    assert first.startswith(" +  8  Before")
    assert others == [" - 9-11 Part II: rest       not attempted       0/7.5"]


@pytest.mark.parametrize("begun", range(3))
def test_part_that_was_begun_has_a_line_for_each_step(begun):
    statuses = [Status.FAILED if i == begun else Status.NOT_ATTEMPTED for i in range(3)]
    _, *others = rows(*statuses)
    assert [line.split()[1:3] for line in others] == [["9", "A"], ["10", "B"], ["11", "C"]]


def test_part_without_files_takes_one_line_too():
    _, *others = rows(*[Status.NOT_ATTEMPTED] * 3, message="There is no file.")
    assert len(others) == 1
