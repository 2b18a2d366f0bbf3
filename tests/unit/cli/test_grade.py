"""What `make grade` says on the screen."""

from dataclasses import replace

from grader.cli.kit.grade import _describe_change
from grader.report.records import Change, Grade, Graded, Status
from tests.support.classes import check, report, right, step


def _hand_in(**statuses):
    return Graded("alice", report(step(*(check(name, each) for name, each in statuses.items()))))


def test_change_names_the_points_before_and_after():
    change = Change(
        "alice", _hand_in(a=Status.FAILED), _hand_in(a=Status.PASSED), "handed in again"
    )
    assert _describe_change(change) == "alice: 0 -> 2 (handed in again)"


def test_change_of_checks_alone_says_that_the_points_are_the_same():
    before = _hand_in(a=Status.FAILED, b=Status.PASSED)
    after = _hand_in(a=Status.PASSED, b=Status.FAILED)
    change = Change("alice", before, after, "handed in again")
    assert _describe_change(change) == "alice: still 2, with other checks (handed in again)"


def test_change_far_above_the_maximum_is_called_so():
    """Somebody may have typed 83.4 for 8.34."""
    after = replace(right(), grade=Grade(83.4, 20.0))
    told = _describe_change(Change("alice", right(), after, "changed by hand"))
    assert told == "alice: 10 -> 83.4, more than the 20 possible (changed by hand)"
