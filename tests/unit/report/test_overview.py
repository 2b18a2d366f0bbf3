"""The overview in the terminal: a part that is not at issue takes one line."""

import io
from itertools import chain

import pytest

from grader.report.records import Status, StepVerdict
from grader.report.text.terminal import Overview, Printer

PARTS = {"Part I: one": ["step07_y", "step08_z"], "Part II: two": ["step09_a", "step10_b"]}
P, F, N = Status.PASSED, Status.FAILED, Status.NOT_ATTEMPTED


def verdicts(*statuses):
    """Return verdicts on the four steps."""
    named = zip(chain(*PARTS.values()), statuses, strict=True)
    return [StepVerdict(name, name[7:].upper(), s, 2.5 * (s is P), 2.5, ()) for name, s in named]


def rows(*statuses, parts=PARTS):
    """Return the rows printed for the four steps."""
    printer = Printer(io.StringIO())
    overview = Overview(printer, parts)
    for verdict in verdicts(*statuses):
        overview(verdict)
    return printer.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 59, 60, 80])
def test_bar_is_short_enough_for_the_points(width):
    printer = Printer(io.StringIO())
    printer.width = width
    step = StepVerdict("step07_y", "Y", P, 13.5, 25.5, ())
    printer.total([step])
    last = printer.file.getvalue().splitlines()[-1]
    assert last.endswith("] 13.5 of 25.5 points")
    assert len(last) <= width


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ((P, F, N, N), "2.5 of 5 points in Part I"),
        ((P, P, N, P), "2.5 of 5 points in Part II"),
        ((P, P, P, P), "10 of 10 points"),
    ],
)
def test_bar_counts_the_part_to_work_on(statuses, told):
    printer = Printer(io.StringIO())
    printer.total(verdicts(*statuses), PARTS)
    assert printer.file.getvalue().splitlines()[-1].endswith(f"] {told}")


def numbers(lines):
    return [line.split()[1] for line in lines]


def test_part_that_passed_or_was_not_begun_takes_one_line():
    assert rows(P, F, N, N)[-1] == " - 9-10 Part II: two        not attempted         0/5"
    assert rows(P, P, F, N)[0] == " +  7-8 Part I: one         passed                5/5"


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ((N, N, N, N), ["7", "8", "9-10"]),
        ((P, F, N, N), ["7", "8", "9-10"]),
        ((P, P, F, N), ["7-8", "9", "10"]),
        ((P, P, N, N), ["7-8", "9-10"]),
        ((P, P, P, P), ["7-8", "9-10"]),
        ((P, P, N, F), ["7-8", "9", "10"]),
        ((N, N, N, P), ["7", "8", "9", "10"]),
        ((P, F, F, N), ["7", "8", "9", "10"]),
    ],
)
def test_no_step_is_left_out(statuses, told):
    assert numbers(rows(*statuses)) == told


def test_steps_of_no_whole_part_have_a_line_each():
    assert numbers(rows(P, P, N, N, parts={})) == ["7", "8", "9", "10"]


def test_steps_of_an_unfinished_part_are_shown_at_an_interrupt():
    printer = Printer(io.StringIO())
    overview = Overview(printer, PARTS)
    overview(StepVerdict("step07_y", "Y", P, 2.5, 2.5, ()))
    assert not printer.file.getvalue()
    overview.finish()
    assert numbers(printer.file.getvalue().splitlines()) == ["7"]
