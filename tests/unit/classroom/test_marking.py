"""From reports to grades: teams, and the reasons that a student reads."""

import dataclasses

from grader.classroom.course import parse_course
from grader.classroom.exports.people import Person
from grader.classroom.gradebook import Gradebook
from grader.classroom.marking import Rules, absent
from grader.classroom.publishing import by_hand
from grader.classroom.tables import Override
from grader.report.records import Graded, Status, StepVerdict, Who
from grader.steps import registry
from tests.support.classes import report, right

REGISTRY = registry.load()
TEAM = """
title = "x"
steps = ["2", "3"]
due = 2026-11-20T12:00:00Z
[late]
percent_per_day = 10
[groups]
"Team 1" = ["Anna Abel", "b@x.org"]
"""
ANNA = Who("Moodle", "1", "Anna Abel", "a@x.org")
BO = Who("Moodle", "2", "Bo Beck", "b@x.org", submitted="2026-11-21T11:00:00+00:00")
CY = Who("Moodle", "3", "Cy Cole", "c@x.org")
ROSTER = [
    Person(f"{who.name}_{who.number}", frozenset((who.name, who.email)), who)
    for who in (ANNA, BO, CY)
]
WORK = right("Team 1_7", who=Who("Moodle", "7", "Team 1"))


def graded(more="", overrides=()):
    rules = Rules(parse_course(TEAM + more, REGISTRY), overrides, ROSTER)
    (found,) = rules.apply([WORK])
    return found.score, " ".join(found.grade.notes)


def test_member_of_a_team_has_not_handed_in_nothing():
    groups = parse_course(TEAM, REGISTRY).groups
    assert [one.id for one in absent(ROSTER, [(WORK.student, WORK.who)], groups)] == ["Cy Cole_3"]


def test_team_is_as_late_as_moodle_says_of_its_members():
    assert graded() == (9.0, "Begun days late: 1. 10 % are taken off 10 points.")


def test_extension_of_a_member_is_the_teams():
    score, notes = graded('[extensions]\n"a@x.org" = 2026-11-22T12:00:00Z\n')
    assert (score, notes) == (10.0, "Extended until 2026-11-22 12:00 +0000.")


def test_extension_of_a_member_is_for_somebody():
    text = '[extensions]\n"Bo Beck" = 2026-11-22T12:00:00Z\n"Ed" = 2026-11-22T12:00:00Z\n'
    rules = Rules(parse_course(TEAM + text, REGISTRY), (), ROSTER)
    assert rules.strangers([WORK]) == ["extensions: nobody is called Ed."]


def test_step_without_a_grade_says_why():
    why = "step02_scores.py cannot be read: it is UTF-16 text."
    step = StepVerdict("step02_scores", "Scaled scores", Status.ERROR, 0, 5, ())
    step = dataclasses.replace(step, gradable=False, message=why)
    (found,) = Rules(parse_course(TEAM, REGISTRY)).apply([Graded("anna", report(step))])
    assert found.grade.notes[-1] == f"No score yet: Scaled scores could not be graded. {why}"


def change(points=3.0, comment="typo"):
    return Override(2, WORK.student, "step02_scores", points, False, comment, "Tim", "today")


def reasons(folder, *states):
    """Why the points differ each time, under these changes by hand and rules."""
    with Gradebook(folder, write=True) as book:
        for more, overrides in states:
            rules = Rules(parse_course(TEAM + more, REGISTRY), overrides, ROSTER)
            yield [one.because for one in by_hand(book, rules.apply([WORK]), ())]


def test_changes_name_what_was_changed_by_hand(tmp_path):
    told = list(reasons(tmp_path, ("", ()), ("", [change()]), ("", ()), ("[weights]\n2 = 2\n", ())))
    assert told[1] == ["changed by hand: Scaled scores: 3 instead of 5 (Tim, today): typo"]
    assert told[2] == ["a change by hand was taken back"]
    assert told[3] == ["the assignment file or the class list changed"]


def test_name_that_a_student_has_chosen_brings_nobody_elses_time_or_address():
    text = 'title = "x"\nsteps = ["2"]\ndue = 2026-11-20T12:00:00Z\n[late]\npercent_per_day = 10\n'
    anna = Who("", "", "Anna Abel", "a@x.org", submitted="2026-11-20T11:00:00+00:00")
    person = Person("anna", frozenset(("anna", "Anna Abel", "a@x.org")), anna)
    rules = Rules(parse_course(text, REGISTRY), (), [person])
    class_ = [
        right(f"Anna Abel_{number}", who=Who("Moodle", number, "Anna Abel")) for number in "19"
    ]
    gone = right("anna", who=dataclasses.replace(anna, absent="it is missing now"))
    for some, address in ((class_, ""), (class_[:1], "a@x.org"), ([class_[0], gone], "a@x.org")):
        first = next(rules.unambiguous(some).apply(some))
        assert (first.who.email, bool(first.who.submitted)) == (address, bool(address))
    told = "class list: 2 students are called anna; nobody gets its time and address."
    assert (rules.strangers(class_), rules.strangers(class_[:1])) == ([told], [])
