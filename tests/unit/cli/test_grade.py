"""What `make grade` says on the screen."""

from grader.cli.kit.grade import _describe_change
from grader.report.records import Change, Graded, Status
from tests.support.classes import check, report, step


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
