"""From reports to grades: teams, and the reasons that a student reads."""

import dataclasses

import pytest

from grader.classroom.course import Course, parse_course
from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam
from grader.classroom.marking import Rules, rules_of
from grader.classroom.notices import list_strangers
from grader.classroom.overrides import HEADER
from grader.classroom.people import compose, person
from grader.classroom.publishing import list_changes, note_points
from grader.classroom.tables import read_roster
from grader.report.records import Graded, Status, StepVerdict, Who
from grader.steps import registry
from tests.support.classes import not_gradable, override, report, right, wrong

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
ROSTER = [person(f"{who.name}_{who.number}", who) for who in (ANNA, BO, CY)]
WORK = right("Team 1_7", who=Who("Moodle", "7", "Team 1"))


def applied(rules, class_):
    class_ = list(class_)
    return rules.settle(class_).apply(class_)


def told_of(rules, class_):
    return list_strangers(rules.settle(class_))


def graded(more="", overrides=()):
    rules = Rules(parse_course(TEAM + more, REGISTRY), overrides, ROSTER)
    (found,) = applied(rules, [WORK])
    return found.score, " ".join(found.grade.notes)


def test_member_of_a_team_has_not_handed_in_nothing_and_has_extensions():
    text = '[extensions]\n"Bo Beck" = 2026-11-22T12:00:00Z\n"Ed" = 2026-11-22T12:00:00Z\n'
    rules = Rules(parse_course(TEAM + text, REGISTRY), (), ROSTER).settle([WORK])
    assert [one.id for one in rules.answer.list_absent()] == ["Cy Cole_3"]
    assert list_strangers(rules) == ["extensions: there is no work of Ed."]


def test_each_note_ends_as_a_sentence():
    notes = graded(overrides=[change()])[1]
    assert "3 instead of 5 (Tim, today): typo. 1 day late: 10 %" in notes
    said = dataclasses.replace(change(None, "Well done!"), target="")
    assert "Comment (Tim, today): Well done! 1 day late" in graded(overrides=[said])[1]


def test_extension_of_a_member_is_the_teams():
    score, notes = graded('[extensions]\n"a@x.org" = 2026-11-22T12:00:00Z\n')
    assert (score, notes) == (10.0, "Extended until 2026-11-22 12:00 +0000.")


def change(points=3.0, comment="typo"):
    return override("step02_scores", points, WORK.student, comment)


def reasons(folder, *states):
    """Why the points differ each time, under these changes by hand and rules."""
    with Gradebook(folder, write=True) as book:
        run = book.begin(Exam("hidden", 7, "process", (), "a kit"))
        book.mark(run, Graded(WORK.student, None, who=WORK.who))
        for more, overrides in states:
            rules = Rules(parse_course(TEAM + more, REGISTRY), overrides, ROSTER)
            class_ = list(applied(rules, [WORK]))
            yield [one.because for one in list_changes(book, run, class_)]
            note_points(book, run, class_)


def test_changes_name_what_was_changed_by_hand(tmp_path):
    """Each new one, because the last often holds the score."""
    one, whole = change(), dataclasses.replace(change(7.0), target="")
    mask, weights = dataclasses.replace(one, target="step03_mask"), "[weights]\n2 = 2\n"
    states = ("", ()), ("", [one]), ("", [one, mask, whole]), ("", ()), (weights, ())
    assert list(reasons(tmp_path, *states))[1:] == [
        ["changed by hand: Scaled scores: 3 instead of 5 (Tim, today): typo."],
        [
            "changed by hand: Masks: 3 instead of 5 (Tim, today): typo. "
            "Points set to 7 instead of 5.4 (Tim, today): typo."
        ],
        ["a change by hand was taken back"],
        ["the assignment file or the class list changed"],
    ]


LATE = 'title = "x"\nsteps = ["2"]\ndue = 2026-11-20T12:00:00Z\n[late]\npercent_per_day = 10\n'


def on_list(id, name, email, platform="", number="", days=0):
    """A person on the class list whose work came so many days after the 20th, at noon."""
    who = Who(platform, number, name, email, submitted=f"2026-11-{20 + days}T12:00:00+00:00")
    return person(id, who)


@pytest.mark.parametrize(
    ("more", "worth"),
    [
        ("", 19.5),
        ("points = 20\n", 20),
        ('extra_credit = ["2"]\n', 12.5),
        ("drop = 1\n", 12.5),
        ("[weights]\n3 = 2\n", 32),
    ],
)
def test_points_by_hand_without_a_report_are_of_what_the_assignment_is_worth(tmp_path, more, worth):
    """Else Canvas and Moodle get them as they are, beside scores that are scaled."""
    course = parse_course(f'title = "x"\nsteps = ["2", "3"]\n{more}', REGISTRY)
    points = {"step02_scores": 7.0, "step03_mask": 12.5}
    (tmp_path / "overrides.csv").write_text(f"{HEADER}\nbob,,7.8,,on paper,Tim,today\n")
    rules = rules_of({"course": dataclasses.asdict(course), "worth": points}, tmp_path)
    (found,) = applied(rules, [not_gradable("bob")])
    assert (found.score, found.max_score) == (7.8, worth)


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section
    Points Possible,,,,
"Abel, Anna",1201,u1,anna@x.org,A
"Beck, Ben",1202,u2,1201,A
"""


@pytest.mark.parametrize("name", ["Abel, Anna", "Anna Abel", "u1", "anna@x.org", "Anna@X.org"])
def test_student_may_be_named_as_in_the_row_of_canvas(tmp_path, name):
    (tmp_path / "g.csv").write_text(CANVAS, encoding="utf-8")
    text = f'{LATE}[extensions]\n"{name}" = 2026-11-24T12:00:00Z\n'
    change = override("", 7.5, name)
    rules = Rules(parse_course(text, REGISTRY), [change], read_roster(tmp_path / "g.csv"))
    class_ = [
        right(f"{who}_{n}", who=Who("Canvas", n)) for who, n in (("a", "1201"), ("b", "1202"))
    ]
    assert told_of(rules, class_) == []
    anna, ben = applied(rules, class_)
    assert (anna.score, ben.score) == (7.5, 10)
    extended = rules.settle(class_).extensions
    assert [bool(extended[one.student]) for one in class_] == [True, False]


@pytest.mark.parametrize(
    ("extensions", "points"),
    [
        ({}, 7.0),
        ({"anna": 21, "anna@x.org": 30}, 10.0),
        ({"anna": 19}, 7.0),  # the deadline of all was moved behind it
        ({"Anna@X.org": 30}, 10.0),
        ({"Anna": 30}, 7.0),  # an id in capitals is another one
    ],
)
def test_latest_extension_of_a_person_counts_and_none_shortens_the_deadline(extensions, points):
    lines = "".join(f'"{name}" = 2026-11-{day}T12:00:00Z\n' for name, day in extensions.items())
    roster = [on_list("anna", "Anna Abel", "anna@x.org", days=3)]
    course = parse_course(f"{LATE}[extensions]\n{lines}", REGISTRY)
    assert next(applied(Rules(course, (), roster), [right("anna")])).score == points


def test_address_with_a_letter_that_looks_alike_is_another():
    assert compose("\u017fam@x.org") != compose("sam@x.org")
    assert compose("\u0130@x.org") != compose("i@x.org")


def test_change_of_a_student_who_is_named_in_two_ways_counts_once():
    """Two people have written one each, and the last one counts."""
    roster = [on_list("bob", "Bob Beck", "b@x.org")]

    course = parse_course('title = "x"\nsteps = ["2"]\n', REGISTRY)
    excuse = {"points": None, "excuse": True}
    for target, first, last, score in (
        ("scores_agree", {"points": 3.0}, {"points": 2.0}, 7.0),
        ("step02_scores", {"points": 3.0}, {"points": 2.0}, 7.0),
        ("", excuse, {"points": 2.0}, 2.0),
        ("", {"points": 2.0}, excuse, None),
    ):
        changes = [override(target, **first), override(target, student="b@x.org", row=3, **last)]
        rules = Rules(course, changes, roster).settle([wrong("bob")])
        assert [one.score for one in rules.apply([wrong("bob")])] == [score]
        told = ["overrides, row 2: row 3 changes the same thing of bob, and counts."]
        assert list_strangers(rules) == told


def test_student_who_is_excused_from_every_step_has_no_zero():
    course = parse_course('title = "x"\nsteps = ["2", "3"]\npoints = 20\n', REGISTRY)
    steps = ("step02_scores", "step03_mask")
    changes = [override(step, comment="ill", excuse=True) for step in steps]
    (whole,), (half,) = (applied(Rules(course, changes[:n]), [wrong("bob")]) for n in (2, 1))
    assert (whole.score, whole.excused, half.score) == (None, True, 20.0)
    assert "Masks: excused (Tim, today): ill." in whole.grade.notes


def test_words_of_other_people_are_no_changes_by_hand():
    """Comments and the names of students' files may hold any words."""
    said = dataclasses.replace(change(None, "take a mask instead of a loop"), target="")
    rules = Rules(parse_course(TEAM, REGISTRY), [said, change()], ROSTER)
    (found,) = applied(rules, [WORK])
    assert found.grade.by_hand == ("Scaled scores: 3 instead of 5 (Tim, today): typo.",)


def marked(steps, overrides=(), more=""):
    """The grade for these points and maxima of steps 2, 3, ...; None is not gradable."""
    verdicts = [
        StepVerdict(
            *(step.id, step.title, Status.FAILED, points or 0.0, most, ()),
            gradable=points is not None,
        )
        for step, (points, most) in zip(REGISTRY.steps[1:], steps)
    ]
    numbers = [str(number) for number in range(2, 2 + len(steps))]
    course = parse_course(f'title = "x"\nsteps = {numbers}\n{more}'.replace("'", '"'), REGISTRY)
    (found,) = applied(Rules(course, overrides), [Graded("bob", report(*verdicts))])
    return found.grade


def test_step_is_dropped_that_helps_most():
    found = marked([(0, 2), (9, 20), (10, 10)], more="drop = 1\n")
    assert (found.score, found.max_score) == (10, 12)
    assert "Dropped, because the percentage is highest so: Masks." in found.notes


def test_change_says_instead_of_what_only_if_there_were_other_points():
    for target, points, told in (
        ("step02_scores", None, "Scaled scores: 7"),
        ("step02_scores", 7, "Scaled scores: 7"),
        ("", 7, "Points set to 7"),
        ("", 6, "Points set to 7 instead of 6"),
    ):
        found = marked([(points, 7)], [override(target, 7.0)])
        assert found.by_hand == (f"{told} (Tim, today).",)


@pytest.mark.parametrize("order", [("anna", "ben", "cy"), ("cy", "ben", "anna")])
def test_team_handed_in_when_its_last_member_did(order):
    """The order in the assignment file decided."""
    roster = [on_list(id, id, f"{id}@x.org", days=days) for id, days in zip(order, (0, 3, 1))]
    text = f"{LATE}[groups]\nRed = {list(order)}\n"
    (found,) = applied(Rules(parse_course(text, REGISTRY), (), roster), [right("Red")])
    assert (found.score, found.grade.late) == (7.0, "3 days late")


def test_late_rule_without_times_is_told():
    """Otherwise nobody would be late, and the instructor would not learn it."""
    course = parse_course(TEAM.partition("[groups]")[0], REGISTRY)
    noon = "2026-11-20T11:00:00+00:00"
    class_ = [right("anna"), right("bo", who=Who(submitted=noon)), right("cy", who=Who("Canvas"))]
    class_.append(right("di", who=Who("Canvas", "4", late=True)))
    class_.append(right("eve", who=Who(absent="nothing was handed in")))
    (told,) = told_of(Rules(course), class_)
    assert told.startswith("late: no time is known for 2 students, so nothing is taken off")
    free = dataclasses.replace(course, late=None)
    assert told_of(Rules(free), class_) == []


def test_comment_says_what_it_is_on():
    rows = [override(one, comment="sign?") for one in ("step02_scores", "scores_agree", "")]
    rows.append(dataclasses.replace(rows[0], line=12))
    (found,) = applied(Rules(Course(), rows), [wrong("bob")])
    assert [note.partition(" (")[0] for note in found.grade.notes] == [
        "Comment on Scaled scores",
        'Comment on "The rule of scores_agree."',
        "Comment",
        "Comment on Scaled scores, line 12",
    ]
