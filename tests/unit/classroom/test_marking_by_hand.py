"""Grades of random classes beside the same rules worked out in fractions, as the guide has them."""

import itertools
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from hypothesis import strategies as st

from grader.classroom.course import Course, Late
from grader.classroom.marking import Rules
from grader.classroom.overrides import Override
from grader.report.records import Graded, Status, StepVerdict, Who
from tests.conftest import STEPS
from tests.support.classes import report
from tests.support.examples import given, settings

DUE = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
HALVES = st.integers(0, 20).map(lambda n: n / 2)
IDS = [step.id for step in STEPS[:4]]


@st.composite
def classes(draw):
    """Steps with points and maximum, an assignment, and changes by hand of one student."""
    most = {id: draw(HALVES) for id in IDS}
    points = {id: draw(st.integers(0, 4)) * most[id] / 4 for id in IDS}
    late = Late(
        draw(HALVES), draw(st.sampled_from([0.0, 15.0])), draw(st.sampled_from([0.0, 70.0]))
    )
    course = Course(
        title="x",
        points=draw(st.sampled_from([None, 12.0])),
        due=DUE.isoformat(),
        drop=draw(st.integers(0, 2)),
        extra_credit=tuple(draw(st.sets(st.sampled_from(IDS), max_size=2))),
        weights=draw(st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 0.5, 2.0]))),
        late=draw(st.sampled_from([None, late])),
    )
    minutes = draw(st.sampled_from([-60, 0, 10, 16, 1440, 1456, 20_000]))
    excused = draw(st.sets(st.sampled_from(IDS)))
    set_to = draw(st.dictionaries(st.sampled_from([*IDS, ""]), HALVES))
    return most, points, course, minutes, excused, set_to


def by_hand(most, points, course, minutes, excused, set_to):
    """The score that the guide says; None for an excused student."""
    if "" in set_to:
        return {Fraction(set_to[""])}
    weight = {id: Fraction(course.weights.get(id, 1.0)) for id in IDS}
    counts = [id for id in IDS if most[id] * weight[id] > 0 and id not in course.extra_credit]
    earned = {id: Fraction(set_to.get(id, points[id])) for id in IDS if id not in excused}
    left = [id for id in counts if id in earned]
    if counts and not left:
        return {None}
    taken = Fraction(0)
    if course.late and minutes > course.late.grace_minutes:
        days = -(-(minutes - int(course.late.grace_minutes)) // 1440)
        taken = Fraction(course.late.percent_per_day) * days
        taken = min(taken, 100 - Fraction(course.late.floor_percent)) / 100
    found = set()
    for dropped in itertools.combinations(left, max(0, min(course.drop, len(left) - 1))):
        score = sum(earned[id] * weight[id] for id in earned if id not in dropped)
        worth = sum(Fraction(most[id]) * weight[id] for id in left if id not in dropped)
        scale = Fraction(course.points) / worth if course.points and worth else 1
        found.add((score / worth if worth else 0, worth, score * scale * (1 - taken)))
    return {max(found)[2]}


@settings(max_examples=200)
@given(classes())
def test_grade_is_what_the_guide_says(example):
    most, points, course, minutes, excused, set_to = example
    steps = [StepVerdict(id, id, Status.FAILED, points[id], most[id], ()) for id in IDS]
    submitted = (DUE + timedelta(minutes=minutes)).isoformat()
    graded = Graded("ada", report(*steps, student="ada"), who=Who(submitted=submitted))
    changes = [Override(2, "ada", id, None, True, "", "Tim", "today") for id in sorted(excused)]
    changes += [
        Override(9 + number, "ada", id, value, False, "", "Tim", "today")
        for number, (id, value) in enumerate(set_to.items())
        if id not in excused
    ]
    kept = {id: value for id, value in set_to.items() if id not in excused}
    (found,) = Rules(course, changes).settle([graded]).apply([graded])
    wanted = by_hand(most, points, course, minutes, excused, kept)
    assert found.excused == (wanted == {None})
    if not found.excused:
        assert min(abs(found.score - float(one)) for one in wanted) < 1e-5
