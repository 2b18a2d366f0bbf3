"""Changes by hand that may be mistakes are named."""

import dataclasses

import pytest

from grader.classroom.course import Course
from grader.classroom.marking import Rules
from grader.classroom.notices import is_older, list_doubtful
from grader.report.records import Change, Who
from tests.support.classes import not_gradable, override, right

CAME = "2026-11-20T12:00:00+01:00"
BOB = right("bob", who=Who(submitted=CAME))


def change(target="", points=3.0, when="2026-11-25"):
    return dataclasses.replace(override(target, points), when=when)


def doubts(one, changes=()):
    return list(list_doubtful(Rules(Course(), [one]).settle([BOB]), [BOB], changes))


@pytest.mark.parametrize(
    ("target", "points", "most"),
    [("", 11.0, "10"), ("step02_scores", 6.0, "5"), ("scores_agree", 9.0, "5")],
)
def test_points_above_the_maximum_are_named(target, points, most):
    told = f"overrides, row 2: {points:g} points for bob are more than the {most} possible."
    assert doubts(change(target, points)) == [told]
    assert doubts(change(target, float(most))) == []


@pytest.mark.parametrize(
    ("when", "is_one"),
    [
        ("2026-11-19", True),
        ("2026-11-20", False),
        ("2026-11-20T10:59+00:00", True),
        ("2026-11-20 12:00+01:00", False),
        ("2026-11-21", False),
        ("last week", False),
    ],
)
def test_change_before_the_newest_work_is_older(when, is_one):
    assert is_older(change(when=when), CAME) is is_one
    assert not is_older(change(when=when), "")
    told = ["overrides, row 2, is older than bob's newest work: is it still right?"]
    assert doubts(change(when=when)) == told * is_one


def test_change_of_what_was_not_graded_is_told():
    """It would silently change nothing."""
    named = [("bob", "step02_scores"), ("bob", "scores_agree"), ("bob", "step05_output")]
    named += [("carol", "step02_scores"), ("carol", "")]
    changes = [
        dataclasses.replace(change(target), row=row, student=student)
        for row, (student, target) in enumerate(named, 2)
    ]
    class_ = [BOB, not_gradable("carol")]
    assert list(list_doubtful(Rules(Course(), changes).settle(class_), class_)) == [
        "overrides, row 4: step05_output of bob was not graded; it changes nothing.",
        "overrides, row 5: step02_scores of carol was not graded; it changes nothing.",
    ]


def test_change_of_work_that_was_handed_in_again_is_named():
    before = dataclasses.replace(BOB, sha256="cd" * 32)
    again = Change("bob", before, BOB, "handed in again")
    assert len(doubts(change(), [again])) == 1
    assert doubts(dataclasses.replace(change(), points=None, comment="x"), [again]) == []
