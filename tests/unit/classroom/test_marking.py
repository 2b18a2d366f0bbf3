"""From reports to grades: teams, and the reasons that a student reads."""

import dataclasses

import pytest

from grader.classroom.class_list import trust_numbers
from grader.classroom.course import Course, parse_course
from grader.classroom.exports.merging import score_text
from grader.classroom.exports.people import Person, compose
from grader.classroom.gradebook import Gradebook
from grader.classroom.marking import Rules, is_by_hand, rules_of
from grader.classroom.notices import list_ineffective, list_strangers, list_unlisted
from grader.classroom.publishing import _explain, by_hand, published_points
from grader.classroom.tables import HEADER, Override, read_roster
from grader.report.records import Graded, Status, StepVerdict, Who
from grader.steps import registry
from tests.support.classes import not_gradable, report, right, wrong

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


def absent(rules, class_):
    """The ids of the people on the class list who have handed in nothing."""
    return [
        one.id
        for one, _ in rules.class_list.list_absent((work.student, work.who) for work in class_)
    ]


def test_member_of_a_team_has_not_handed_in_nothing():
    rules = Rules(parse_course(TEAM, REGISTRY), (), ROSTER)
    assert absent(rules, [WORK]) == ["Cy Cole_3"]


def test_team_is_as_late_as_moodle_says_of_its_members():
    assert graded() == (9.0, "Begun days late: 1. 10 % are taken off 10 points.")


def test_final_points_say_nothing_of_lateness():
    final = dataclasses.replace(change(25.0), target="")
    assert graded(overrides=[final]) == (25.0, "Points set to 25 instead of 10 (Tim, today): typo.")


def test_each_note_ends_as_a_sentence():
    notes = graded(overrides=[change()])[1]
    assert "3 instead of 5 (Tim, today): typo. Begun days late: 1." in notes
    said = dataclasses.replace(change(None, "Well done!"), target="")
    assert "Comment (Tim, today): Well done! Begun days late" in graded(overrides=[said])[1]


def test_extension_of_a_member_is_the_teams():
    score, notes = graded('[extensions]\n"a@x.org" = 2026-11-22T12:00:00Z\n')
    assert (score, notes) == (10.0, "Extended until 2026-11-22 12:00 +0000.")


def test_extension_of_a_member_is_for_somebody():
    text = '[extensions]\n"Bo Beck" = 2026-11-22T12:00:00Z\n"Ed" = 2026-11-22T12:00:00Z\n'
    rules = Rules(parse_course(TEAM + text, REGISTRY), (), ROSTER)
    assert list_strangers(rules, [WORK]) == ["extensions: nobody is called Ed."]


def test_students_who_are_not_on_the_class_list_are_named():
    rules = Rules(parse_course(TEAM, REGISTRY), (), ROSTER)
    listed = right("Cy Cole_3", who=CY)
    absent = not_gradable("fi", who=Who(absent="nothing was handed in"))
    others = [right(name) for name in ("dan", "eva")]
    assert list_unlisted(rules.class_list, [WORK, listed, absent]) == []
    assert list_unlisted(Rules(Course()).class_list, others) == []
    assert list_unlisted(rules.class_list, [WORK, listed, *others]) == [
        "class list: 2 students are not on it: dan, eva."
    ]


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
            class_ = list(rules.apply([WORK]))
            yield [one.because for one in by_hand(book, 1, class_, ())]
            book.publish(1, dict(map(published_points, class_)))


def test_changes_name_what_was_changed_by_hand(tmp_path):
    told = list(reasons(tmp_path, ("", ()), ("", [change()]), ("", ()), ("[weights]\n2 = 2\n", ())))
    assert told[1] == ["changed by hand: Scaled scores: 3 instead of 5 (Tim, today): typo"]
    assert told[2] == ["a change by hand was taken back"]
    assert told[3] == ["the assignment file or the class list changed"]


def test_note_of_an_earlier_version_without_a_full_stop_is_the_same_note():
    note = "Scaled scores: 3 instead of 5 (Tim, today): typo"
    assert _explain(note, [f"{note}."]) == "the assignment file or the class list changed"


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
    assert (list_strangers(rules, class_), list_strangers(rules, class_[:1])) == ([told], [])


LATE = 'title = "x"\nsteps = ["2"]\ndue = 2026-11-20T12:00:00Z\n[late]\npercent_per_day = 10\n'


def on_list(id, name, email, platform="", number="", days=0):
    """A person on the class list whose work came so many days after the 20th, at noon."""
    who = Who(platform, number, name, email, submitted=f"2026-11-{20 + days}T12:00:00+00:00")
    return Person(id, frozenset((id, name, email)), who)


def test_number_on_an_own_list_finds_who_has_no_name_in_the_download():
    """Canvas' download has numbers only. Without them nobody is late, and everybody absent."""
    who = Who("", "1205", "Ed East", "e@x.org", submitted="2026-11-22T11:00:00+00:00")
    person = Person("ed", frozenset(("ed", "Ed East", "e@x.org", "1205")), who)
    rules = Rules(parse_course(LATE, REGISTRY), (), [person])
    for work, share in (
        (right("easted_1205", who=Who("Canvas", "1205")), 0.8),
        (right("Team 3_1205", who=Who("Moodle", "1205", "Team 3")), 1),
    ):
        (found,) = rules.apply([work])
        assert found.score == pytest.approx(10 * share)
        assert bool(found.who.email) is (share < 1)
        assert bool(absent(rules, [work])) is (share == 1)


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
    rules = rules_of({"course": course.to_dict(), "worth": points}, REGISTRY, tmp_path)
    (found,) = rules.apply([not_gradable("bob")])
    assert (found.score, found.max_score) == (7.8, worth)
    assert score_text(found, 100, ".") == f"{780 / worth:.2f}".rstrip("0").rstrip(".")


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section
    Points Possible,,,,
"Abel, Anna",1201,u1,anna@x.org,A
"Beck, Ben",1202,u2,1201,A
"""


@pytest.mark.parametrize("name", ["Abel, Anna", "Anna Abel", "u1", "anna@x.org", "Anna@X.org"])
def test_student_may_be_named_as_in_the_row_of_canvas(tmp_path, name):
    (tmp_path / "g.csv").write_text(CANVAS, encoding="utf-8")
    text = f'{LATE}[extensions]\n"{name}" = 2026-11-24T12:00:00Z\n'
    change = Override(2, name, "", 7.5, False, "", "Tim", "today")
    rules = Rules(parse_course(text, REGISTRY), [change], read_roster(tmp_path / "g.csv"))
    class_ = [
        right(f"{who}_{n}", who=Who("Canvas", n)) for who, n in (("a", "1201"), ("b", "1202"))
    ]
    assert list_strangers(rules, class_) == []
    anna, ben = rules.unambiguous(class_).apply(class_)
    assert (anna.score, ben.score) == (7.5, 10)
    assert [bool(rules.list_extensions(one)) for one in (anna, ben)] == [True, False]


def test_number_that_another_has_as_an_id_of_the_university_names_nobody(tmp_path):
    (tmp_path / "g.csv").write_text(CANVAS, encoding="utf-8")
    change = Override(2, "1201", "", 7.5, False, "", "Tim", "today")
    rules = Rules(parse_course(LATE, REGISTRY), [change], read_roster(tmp_path / "g.csv"))
    class_ = [
        right(f"{who}_{n}", who=Who("Canvas", n)) for who, n in (("a", "1201"), ("b", "1202"))
    ]
    told = "overrides, row 2: 2 students are called 1201; it changes nothing."
    assert list_strangers(rules, class_) == [told]
    assert [one.score for one in rules.unambiguous(class_).apply(class_)] == [10, 10]


def test_team_that_no_work_is_called_by_is_told():
    rules = Rules(parse_course(TEAM, REGISTRY), (), ROSTER)
    alone = right("team1_7", who=Who("Canvas", "7"))
    told = "groups: no submission is called Team 1, so its members have none."
    assert told in list_strangers(rules, [alone])
    assert list_strangers(rules, [WORK]) == []


SEVERAL = {
    "same name": (
        Who("Moodle", "13", "Anna Abel"),
        "Anna Abel_13",
        [on_list("ann", "Anna Abel", "a@x.org", days=5), on_list("anb", "Anna Abel", "b@x.org")],
    ),
    "another's address as a name": (
        Who(),
        "anna@x.org",
        [
            on_list("anna@x.org_1", "anna@x.org", "mallory@x.org", "Moodle", "1", 5),
            on_list("Anna Abel_2", "Anna Abel", "anna@x.org", "Moodle", "2"),
        ],
    ),
    "one name in two forms": (
        Who(),
        "Jos\u00e9",
        [
            Person(id, frozenset(("Jos\u00e9", mail)), Who(email=mail))
            for id, mail in (("Jos\u00e9", "a@x.org"), ("Jose\u0301", "b@x.org"))
        ],
    ),
}


def test_student_with_somebodys_number_and_another_name_is_told_of():
    """Somebody may have another name on Moodle now than on an older class list."""
    listed = Who("Moodle", "4799", "Eve Evil", "eve@x.org", submitted="2026-11-22T12:00:00Z")
    roster = [Person("eve@x.org", frozenset(("Eve Evil", "eve@x.org")), listed)]
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    class_ = [right("Sam Roe_4799", who=Who("Moodle", "4799", "Sam Roe"))]
    (found,) = rules.unambiguous(class_).apply(class_)
    assert (found.who.email, found.score) == ("", 10.0)
    assert (
        "class list: Sam Roe_4799 has the number of eve@x.org there, but another name, and gets "
        "nobody's time and address."
    ) in list_strangers(rules, class_)
    same = [right("Eve Evil_4799", who=Who("Moodle", "4799", "Eve Evil"))]
    assert not [told for told in list_strangers(rules, same) if "another name" in told]


def test_name_does_not_count_where_the_number_is_anothers():
    """Students choose their names, and no numbers."""
    roster = [
        Person(id, frozenset((id, name)), Who("", number, name, f"{id}@x.org", submitted=when))
        for id, name, number, when in (
            ("s12", "Eva Egger", "12", "2026-11-24T12:00:00Z"),
            ("s13", "Anna Abel", "13", "2026-11-20T12:00:00Z"),
        )
    ]
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    eva, anna = (right(f"Anna Abel_{n}", who=Who("Moodle", n, "Anna Abel")) for n in ("12", "13"))
    for class_, mails in (([eva], [""]), ([eva, anna], ["", "s13@x.org"])):
        found = rules.unambiguous(class_).apply(class_)
        assert [one.who.email for one in found] == mails
        told = "class list: Anna Abel_12 has the number of s12 there, but another name, and gets"
        assert [said for said in list_strangers(rules, class_) if said.startswith(told)]


def in_folder(name, number="4712"):
    """A student whose folder from Moodle has that name."""
    return right(f"{name}_{number}", who=Who("Moodle", number, name))


def numbered(id, name, number):
    """A person on an own list with numbers of the platform."""
    return Person(id, frozenset((id, name, number)), Who("", number, name, f"{id}@x.org"))


BECKS = [numbered("ben", "Ben Beck", "13"), numbered("eve", "Eva Egger", "12")]


@pytest.mark.parametrize("called", ["ben", "Ben Beck", "13", "ben@x.org"])
@pytest.mark.parametrize("number", ["12", "16"])  # somebody else's, and a namesake's
def test_change_for_an_absent_person_goes_to_nobody_of_that_name(called, number):
    """Whoever has handed in under that name has the number of somebody else on the list."""
    roster = [*BECKS, numbered("ben2", "Ben Beck", "16")] if number == "16" else BECKS
    text = f'{LATE}[extensions]\n"{called}" = 2026-11-24T12:00:00Z\n'
    change = Override(2, called, "", 6.5, False, "", "Tim", "today")
    rules = Rules(parse_course(text, REGISTRY), [change], roster)
    work = in_folder("Ben Beck", number)
    away = [
        right(one.id, who=dataclasses.replace(one.who, absent="nothing was handed in"))
        for one, _ in rules.class_list.list_absent([(work.student, work.who)])
    ]
    assert "ben" in [one.student for one in away]
    found = {one.student: one for one in rules.unambiguous([work, *away]).apply([work, *away])}
    if number == "16" and called == "Ben Beck":  # could be either
        assert {one.score for one in found.values()} == {10.0}
        return
    assert found["ben"].score == 6.5
    assert found[work.student].score == 10.0
    assert not any("Extended" in note for note in found[work.student].grade.notes)


ON_MOODLE = [
    on_list(f"{name}_{number}", name, f"{name[0].lower()}@x.org", "Moodle", number)
    for name, number in (("Eva Egger", "12"), ("Ben Beck", "13"))
]


@pytest.mark.parametrize(
    "called", ["Ben Beck", "Ben Beck ", "Ben Beck\N{NO-BREAK SPACE}", "Ben_Beck"]
)
def test_change_is_not_lost_by_a_name_that_is_nearly_the_same(called):
    """Eva, whose number is on Moodle's list, has chosen it."""
    change = Override(2, "Ben Beck", "", 6.5, False, "", "Tim", "today")
    text = f'{LATE}[extensions]\n"Ben Beck" = 2026-11-24T12:00:00Z\n'
    rules = Rules(parse_course(text, REGISTRY), [change], ON_MOODLE)
    class_ = [in_folder(called, "12"), in_folder("Ben Beck", "13")]
    eva, ben = rules.unambiguous(class_).apply(class_)
    assert (eva.score, ben.score) == (10.0, 6.5)
    assert any("Extended" in note for note in ben.grade.notes)
    assert not any("Extended" in note for note in eva.grade.notes)


@pytest.mark.parametrize("chosen", ["BEN@x.org\N{NO-BREAK SPACE}", " Ben@X.org", "ben@x.org"])
@pytest.mark.parametrize("named", [True, False])
def test_change_by_address_is_not_lost_by_a_name_like_it(chosen, named):
    """Also on a list without names, where Eva's own address has the same domain."""
    roster = [
        Person(id, frozenset((id, number, mail)), Who("", number, name if named else "", mail))
        for id, number, name, mail in (
            ("s12", "12", "Eva Egger", "eva@x.org"),
            ("s13", "13", "Ben Beck", "ben@x.org"),
        )
    ]
    change = Override(2, "ben@x.org", "", 6.5, False, "", "Tim", "today")
    text = f'{LATE}[extensions]\n"ben@x.org" = 2026-11-24T12:00:00Z\n'
    rules = Rules(parse_course(text, REGISTRY), [change], roster)
    class_ = [in_folder(chosen, "12"), in_folder("Ben Beck", "13")]
    eva, ben = rules.unambiguous(class_).apply(class_)
    assert (eva.score, ben.score) == (10.0, 6.5)
    assert any("Extended" in note for note in ben.grade.notes)


def test_name_that_is_anothers_number_brings_nobodys_points():
    change = Override(2, "13", "", 6.5, False, "", "Tim", "today")
    rules = Rules(parse_course(LATE, REGISTRY), [change], BECKS)
    work = in_folder("13", "12")
    assert absent(rules, [work]) == ["ben", "eve"]
    (found,) = rules.unambiguous([work]).apply([work])
    assert found.score == 10.0


@pytest.mark.parametrize("called", ["Eva Egger", "Eva Egger_12", "e@x.org"])
def test_change_for_an_absent_person_counts_where_a_team_has_the_number(called):
    change = Override(2, called, "", 6.5, False, "", "Tim", "today")
    rules = Rules(parse_course(LATE, REGISTRY), [change], ON_MOODLE)
    team = in_folder("Team A", "12")
    away = right("Eva Egger_12", who=dataclasses.replace(ON_MOODLE[0].who, absent="nothing"))
    assert absent(rules, [team]) == ["Eva Egger_12", "Ben Beck_13"]
    found = {one.student: one for one in rules.unambiguous([team, away]).apply([team, away])}
    assert {name: one.score for name, one in found.items()} == {
        "Team A_12": 10,
        "Eva Egger_12": 6.5,
    }


@pytest.mark.parametrize("roster", [ON_MOODLE, BECKS])
def test_change_by_a_name_that_is_nobodys_on_the_list_counts(roster):
    """The number is somebody's, as a team's may be, or that of a name in other letters."""
    for called in ("Team A", "Team A_12"):
        change = Override(2, called, "", 6.5, False, "", "Tim", "today")
        text = f'{LATE}[extensions]\n"{called}" = 2026-11-24T12:00:00Z\n'
        rules = Rules(parse_course(text, REGISTRY), [change], roster)
        (found,) = rules.unambiguous([work := in_folder("Team A", "12")]).apply([work])
        assert found.score == 6.5
        assert any("Extended" in note for note in found.grade.notes)


def test_absent_person_whose_number_has_work_is_told_apart():
    rules = Rules(parse_course(LATE, REGISTRY), (), BECKS)
    work = in_folder("Zoe Zed", "12")
    found = {
        one.id: renamed for one, renamed in rules.class_list.list_absent([(work.student, work.who)])
    }
    assert found == {"ben": False, "eve": True}


def test_own_list_without_names_is_matched_by_number():
    """Its ids, such as `s1001`, say nothing about names."""
    when = "2026-11-22T12:00:00+00:00"
    roster = [
        Person(id, frozenset((id, number)), Who("", number, submitted=when))
        for id, number in (("s1001", "4711"), ("s1002", "4712"))
    ]
    change = Override(2, "s1001", "", 6.5, False, "", "Tim", "today")
    work = in_folder("Anna Abel", "4711")
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    assert [one.score for one in rules.apply([work])] == [8.0]
    assert absent(rules, [work]) == ["s1002"]
    (told,) = list_strangers(rules, [work])
    assert told.startswith("class list: it has no names for 1 student, found by number alone.")
    named = [*roster, numbered("ben", "Ben Beck", "13")]
    teams = parse_course(f'{LATE}[groups]\n"Team B" = ["s1002"]\n', REGISTRY)
    others = list_strangers(Rules(teams, (), named), [work, in_folder("Ben Beck", "13")])
    assert told in others  # whatever else is known
    rules = Rules(parse_course(LATE, REGISTRY), [change], roster)
    assert [one.score for one in rules.apply([work])] == [6.5]


@pytest.mark.parametrize("names", [("anna.abel",), ("s12", "anna.abel@x.org")])
def test_own_list_whose_ids_or_addresses_say_names_is_matched_by_those_too(names):
    """Its numbers may be others than the platform's."""
    roster = [Person(names[0], frozenset((*names, "12")), Who("", "12", "", names[-1]))]
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    assert absent(rules, [in_folder("Ben Beck", "12")]) == [names[0]]
    assert absent(rules, [in_folder("Anna Abel", "12")]) == []


@pytest.mark.parametrize(("who", "student", "roster"), SEVERAL.values(), ids=SEVERAL)
def test_student_who_could_be_several_people_gets_nobodys_time_and_address(who, student, roster):
    """Else a page goes to another's address, and the time of another costs points."""
    for order in (roster, roster[::-1]):
        rules = Rules(parse_course(LATE, REGISTRY), (), order)
        class_ = [right(student, who=who)]
        (found,) = rules.unambiguous(class_).apply(class_)
        assert (found.who.email, found.who.submitted, found.score) == ("", "", 10.0)
        assert list_strangers(rules, class_) == [
            f"class list: 2 people on it could be {student}, who gets nobody's time and address."
        ]


IN_FOLDERS = [("Conor O'Brien", "Conor OBrien"), ("Li_Wei", "Li Wei"), ("Ann: Lee", "Ann Lee")]


@pytest.mark.parametrize(("name", "written"), IN_FOLDERS)
def test_person_on_an_own_list_has_the_name_that_moodle_writes(name, written):
    """Else lateness, extension, mail and changes by hand are lost, and the person is absent."""
    roster = [on_list("conor", name, "c@x.org", days=2), on_list("ben", "Ben Beck", "b@x.org")]
    work = in_folder(written)
    (found,) = Rules(parse_course(LATE, REGISTRY), (), roster).unambiguous([work]).apply([work])
    assert (found.who.name, found.who.email, found.score) == (name, "c@x.org", 8.0)
    assert absent(Rules(parse_course(LATE, REGISTRY), (), roster), [work]) == ["ben"]
    for called in ("conor", name, written, "c@x.org"):
        course = parse_course(f'{LATE}[extensions]\n"{called}" = 2026-11-24T12:00:00Z\n', REGISTRY)
        change = Override(2, called, "", 6.5, False, "", "Tim", "today")
        for rules, score in (
            (Rules(course, (), roster), 10),
            (Rules(course, [change], roster), 6.5),
        ):
            assert next(rules.unambiguous([work]).apply([work])).score == score
            assert list_strangers(rules, [work]) == []


def test_two_students_with_one_name_in_folders_get_nobodys_time_address_or_extension():
    """One of them may have chosen the name."""
    text = f"{LATE}[extensions]\n" + "".join(
        f'"{called}" = 2026-11-24T12:00:00Z\n' for called in ("conor", "Conor O'Brien")
    )
    change = Override(2, "conor", "", 6.5, False, "", "Tim", "today")
    roster = [on_list("conor", "Conor O'Brien", "c@x.org", days=2)]
    rules = Rules(parse_course(text, REGISTRY), [change], roster)
    class_ = [in_folder("Conor OBrien"), in_folder("Conor OBrien", "4799")]
    for found in rules.unambiguous(class_).apply(class_):
        assert (found.who.email, found.who.submitted, found.score) == ("", "", 10.0)
        assert rules.unambiguous(class_).list_extensions(found) == []
    told = "class list: 2 students are called conor; nobody gets its time and address."
    assert list_strangers(rules, class_)[0] == told


def test_two_people_with_one_name_in_folders_are_nobody():
    """Moodle writes the same folder for both, so one of them is not the other."""
    work = in_folder("Conor OBrien")
    roster = [on_list("a", "Conor O'Brien", "a@x.org"), on_list("b", "Conor OBrien", "b@x.org")]
    for order in (roster, roster[::-1]):
        rules = Rules(parse_course(LATE, REGISTRY), (), order)
        (found,) = rules.unambiguous([work]).apply([work])
        assert (found.who.email, found.who.submitted) == ("", "")
        assert list_strangers(rules, [work])[0] == (
            "class list: 2 people on it could be Conor OBrien_4712, who gets nobody's time and "
            "address."
        )


def test_name_in_a_folder_is_nobodys_who_has_another_number_or_platform():
    person = on_list("conor", "Conor O'Brien", "c@x.org", number="4712")
    rules = Rules(parse_course(LATE, REGISTRY), (), [person])
    plain = right("Conor OBrien")
    class_ = [in_folder("Conor OBrien"), in_folder("Conor OBrien", "4799"), plain]
    found = rules.unambiguous(class_).apply(class_)
    assert [one.who.email for one in found] == ["c@x.org", "", ""]
    listed = on_list("Conor O'Brien_4712", "Conor O'Brien", "c@x.org", "Moodle", "4712")
    rules = Rules(parse_course(LATE, REGISTRY), (), [listed])
    assert [one.who.email for one in rules.apply(class_)] == ["c@x.org", "", ""]


def test_id_of_a_person_is_not_a_name_in_a_folder():
    """Who calls himself `anna abel` is not the person with the id `anna_abel`."""
    roster = [on_list("anna_abel", "Anna B. Abel", "a@x.org")]
    work = in_folder("anna abel")
    assert next(Rules(parse_course(LATE, REGISTRY), (), roster).apply([work])).who.email == ""


def test_member_of_a_team_is_not_who_has_the_name_in_a_folder():
    """Else a display name takes the time, extension and mail of a member of a team."""
    text = f"{LATE}[extensions]\nconor = 2026-11-24T12:00:00Z\n"
    text += "[groups]\n'Team 1' = [\"Conor O'Brien\", 'Ben Beck']\n"
    roster = [on_list("conor", "Conor O'Brien", "c@x.org", days=2)]
    class_ = [in_folder("Team 1", "7"), in_folder("Conor OBrien", "4799")]
    rules = Rules(parse_course(text, REGISTRY), (), roster)
    _, alone = rules.unambiguous(class_).apply(class_)
    assert (alone.who.email, alone.who.submitted) == ("", "")
    assert rules.unambiguous(class_).list_extensions(alone) == []
    assert any(
        "Conor OBrien_4799 has the name of a member" in s for s in list_strangers(rules, class_)
    )


def test_id_on_the_class_list_comes_before_other_names():
    roster = [on_list("ben", "12", "b@x.org", days=5), on_list("12", "Cy Cole", "c@x.org")]
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    (found,) = rules.unambiguous([right("12")]).apply([right("12")])
    assert (found.who.email, found.score) == ("c@x.org", 10.0)
    assert list_strangers(rules, [right("12")]) == []


def test_number_on_the_class_list_tells_two_of_one_name_apart():
    """The platform gives numbers, which nobody can choose."""
    roster = [
        dataclasses.replace(one, who=dataclasses.replace(one.who, number=number))
        for one, number in zip(SEVERAL["same name"][2], ("12", "13"))
    ]
    rules = Rules(parse_course(LATE, REGISTRY), (), roster)
    class_ = [right(f"Anna Abel_{n}", who=Who("Moodle", n, "Anna Abel")) for n in ("12", "13")]
    found = rules.unambiguous(class_).apply(class_)
    assert [(one.who.email, one.score) for one in found] == [("a@x.org", 5.0), ("b@x.org", 10.0)]
    assert list_strangers(rules, class_) == []


def extended(**more):
    """The points of Anna, whose work came three days late, with these extensions."""
    lines = "".join(f'"{name}" = 2026-11-{day}T12:00:00Z\n' for name, day in more.items())
    roster = [on_list("anna", "Anna Abel", "anna@x.org", days=3)]
    course = parse_course(f"{LATE}[extensions]\n{lines}", REGISTRY)
    return next(Rules(course, (), roster).apply([right("anna")])).score


def test_latest_extension_counts_and_none_shortens_the_deadline():
    assert extended() == 7.0
    assert extended(anna=21, **{"anna@x.org": 30}) == 10.0
    assert extended(anna=19) == 7.0  # the deadline of all was moved behind it


def test_latest_extension_of_a_team_counts():
    class_ = [right("Team 1", who=Who(submitted="2026-11-23T12:00:00+00:00"))]
    text = f"{LATE}[groups]\n'Team 1' = ['Anna', 'Ben']\n[extensions]\n"
    text += "Anna = 2026-11-21T12:00:00Z\nBen = 2026-11-25T12:00:00Z\n"
    assert next(Rules(parse_course(text, REGISTRY)).apply(class_)).score == 10.0


def test_address_is_the_same_in_capitals():
    """Else an extension on Gradescope is silently without effect."""
    assert extended(**{"Anna@X.org": 30}) == 10.0
    assert extended(**{"Anna": 30}) == 7.0  # an id is another one


def test_address_with_a_letter_that_looks_alike_is_another():
    assert compose("\u017fam@x.org") != compose("sam@x.org")
    assert compose("\u0130@x.org") != compose("i@x.org")


def test_change_of_a_student_who_is_named_in_two_ways_counts_once():
    """Two people have written one each, and the last one counts."""
    roster = [on_list("bob", "Bob Beck", "b@x.org")]

    def points(target, *rows):
        changes = [
            Override(row, student, target, given, given is None, "", "Tim", "today")
            for row, (student, given) in enumerate(rows, 2)
        ]
        rules = Rules(parse_course('title = "x"\nsteps = ["2"]\n', REGISTRY), changes, roster)
        (found,) = rules.unambiguous([wrong("bob")]).apply([wrong("bob")])
        return found.score, list_strangers(rules, [wrong("bob")])

    told = ["overrides, row 2: row 3 changes the same thing of bob, and counts."]
    assert points("scores_agree", ("bob", 3.0), ("b@x.org", 2.0)) == (7.0, told)
    assert points("step02_scores", ("bob", 3.0), ("b@x.org", 2.0)) == (7.0, told)
    assert points("", ("bob", None), ("b@x.org", 2.0)) == (2.0, told)
    assert points("", ("bob", 2.0), ("b@x.org", None)) == (None, told)


def excused(steps, targets, more="", work=None):
    """The grade of Bob after these steps were excused, one by one."""
    changes = [
        Override(row, "bob", target, None, True, "ill", "Tim", "today")
        for row, target in enumerate(targets, 2)
    ]
    course = parse_course(f'title = "x"\nsteps = {steps}\npoints = 20\n{more}', REGISTRY)
    (found,) = Rules(course, changes).apply([work or wrong("bob")])
    return found


def test_student_who_is_excused_from_every_step_has_no_zero():
    both = ["step02_scores", "step03_mask"]
    found = excused('["2", "3"]', both)
    assert (found.score, found.excused) == (None, True)
    assert "Masks: excused (Tim, today): ill." in found.grade.notes
    assert excused('["2", "3"]', both[:1]).score == 20.0


def test_student_who_is_excused_from_all_but_extra_credit_has_no_zero():
    """Points without a maximum cannot be scaled."""
    more = 'extra_credit = ["2"]\n'
    found = excused('["2", "3"]', ["step03_mask"], more)
    assert (found.score, found.excused) == (None, True)


def test_points_of_the_whole_count_though_every_step_is_excused():
    both = ["step02_scores", "step03_mask", ""]
    changes = [
        Override(row, "bob", target, None if target else 12.0, bool(target), "", "Tim", "today")
        for row, target in enumerate(both, 2)
    ]
    course = parse_course('title = "x"\nsteps = ["2", "3"]\npoints = 20\n', REGISTRY)
    (found,) = Rules(course, changes).apply([wrong("bob")])
    assert (found.score, found.excused) == (12.0, False)


def test_change_of_what_was_not_graded_is_told():
    """It would silently change nothing."""
    changes = [
        Override(row, student, target, 3.0, False, "", "Tim", "today")
        for row, (student, target) in enumerate(
            [
                ("bob", "step02_scores"),
                ("bob", "scores_agree"),
                ("bob", "step05_output"),
                ("carol", "step02_scores"),
                ("carol", ""),
            ],
            2,
        )
    ]
    rules = Rules(parse_course('title = "x"\nsteps = ["2"]\n', REGISTRY), changes)
    assert list(list_ineffective(rules, [wrong("bob"), not_gradable("carol")])) == [
        "overrides, row 4: step05_output of bob was not graded; it changes nothing.",
        "overrides, row 5: step02_scores of carol was not graded; it changes nothing.",
    ]


def test_step_without_weight_is_neither_dropped_for_nor_left_alone():
    """Else the step that counts would be dropped, and the score would be 0 of nothing."""
    more = "drop = 1\n[weights]\n3 = 0\n"  # Bob has all points of step 3 and none of step 2
    assert excused('["2", "3"]', [], more, work=right("bob")).score == 20.0
    assert "dropped" not in " ".join(excused('["2", "3"]', [], more).grade.notes)
    found = excused('["2", "3"]', ["step02_scores"], "[weights]\n3 = 0\n")
    assert (found.score, found.excused) == (None, True)


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("Masks: 3 instead of 5 (Tim, today).", True),
        ("Masks: excused (Tim, today).", True),
        ("Excused (Tim, today): ill", True),
        ("Comment (Tim, today): take a mask instead of a loop", False),
        ("No score yet: Masks could not be graded. a instead of b.py is 2 MB.", False),
    ],
)
def test_only_changes_are_by_hand(note, found):
    """Comments and the names of students' files may hold any words."""
    assert is_by_hand(note) is found


def test_own_list_without_numbers_takes_time_by_its_length_only():
    """Everybody without a number was compared with everybody else."""

    def calls(count):
        roster = [on_list(f"s{n}", f"Name {n}", f"s{n}@x.org") for n in range(count)]
        rules = Rules(parse_course(LATE, REGISTRY), (), roster)
        with pytest.MonkeyPatch.context() as patch:
            seen, is_called = [], Person.is_called
            patch.setattr(Person, "is_called", lambda *a: seen.append(1) or is_called(*a))
            rules.unambiguous([right(f"s{n}") for n in range(count)])
        return len(seen)

    assert calls(20) <= 2 * calls(10)


@pytest.mark.parametrize("order", [("anna", "ben", "cy"), ("cy", "ben", "anna")])
def test_team_handed_in_when_its_last_member_did(order):
    """The order in the assignment file decided."""
    roster = [on_list(id, id, f"{id}@x.org", days=days) for id, days in zip(order, (0, 3, 1))]
    text = f"{LATE}[groups]\nRed = {list(order)}\n"
    (found,) = Rules(parse_course(text, REGISTRY), (), roster).apply([right("Red")])
    assert (found.score, found.grade.late) == (7.0, "3 days late")


# a number that is one student's id and another's number on a platform

NUMBERED = [on_list("52", "Ben Beck", "b@x.org"), on_list("70", "Anna Abel", "a@x.org")]
ANNA_52 = right("Anna Abel_52", who=Who("Moodle", "52", "Anna Abel"))
BEN_53 = right("Ben Beck_53", who=Who("Moodle", "53", "Ben Beck"))


def named_by(number, class_, more=""):
    """Who gets two points by hand, and who an extension, for that number; and the warnings."""
    change = Override(2, number, "", 2.0, False, "", "Tim", "today")
    text = f"{LATE}[extensions]\n'{number}' = 2026-11-30T12:00:00Z\n{more}"
    rules = Rules(parse_course(text, REGISTRY), [change], NUMBERED)
    found = list(rules.unambiguous(class_).apply(class_))
    points = [one.student for one in found if one.score == 2.0]
    until = [one.student for one in found if rules.list_extensions(one)]
    return points, until, list_strangers(rules, class_)


def test_number_in_a_change_by_hand_is_an_id_on_the_own_class_list():
    """Else the points and the extension for Ben were Anna's, whose number on Moodle is his id."""
    ben = [BEN_53.student]
    assert named_by("52", [ANNA_52, BEN_53]) == (ben, ben, [])
    assert named_by("53", [ANNA_52, BEN_53]) == (ben, ben, [])
    assert named_by("52", [ANNA_52])[:2] == ([], [])


def test_id_of_a_person_who_could_be_two_names_nobody_else_by_number():
    liar = right("Ben Beck_60", who=Who("Moodle", "60", "Ben Beck"))
    points, _, told = named_by("52", [ANNA_52, BEN_53, liar])
    assert points == []
    assert "overrides, row 2: 2 students are called 52; it changes nothing." in told


def test_number_of_a_team_is_no_students():
    team = right("Red_52", who=Who("Moodle", "52", "Red"))
    groups = "[groups]\nRed = ['70']\n"
    assert named_by("52", [team, BEN_53], groups)[:2] == ([BEN_53.student], [BEN_53.student])
    team = right("Red_53", who=Who("Moodle", "53", "Red"))
    assert named_by("53", [team, BEN_53], groups)[:2] == ([BEN_53.student], [BEN_53.student])
    assert named_by("53", [team], groups)[0] == []


def test_times_of_files_in_a_platforms_download_are_told_to_be_unknown():
    course = parse_course(TEAM.replace("[late]", '[late]\ntimes = "files"'), REGISTRY)
    class_ = [right("abelanna_1201", who=Who("Canvas", "1201")), right("Di_4", who=BO)]
    (told,) = list_strangers(Rules(dataclasses.replace(course, groups={})), class_)
    assert told.endswith("1 student without a time: the class list may have theirs.")
    assert list_strangers(Rules(dataclasses.replace(course, groups={})), class_[1:]) == []


def test_times_in_nbgraders_notes_that_are_not_read_are_told():
    course = dataclasses.replace(parse_course(TEAM, REGISTRY), groups={})
    class_ = [right("di", who=Who(submitted="2026-11-22 11:00:00 CET")), right("ed")]
    (told,) = list_strangers(Rules(course), class_)
    assert told.startswith("late: 1 of 1 times in timestamp.txt are not read, such as")
    assert told.endswith("set `timezone` to the one that nbgrader has.")


@pytest.mark.parametrize(
    ("more", "told"), [("", True), ("[extensions]\ndi = 2026-11-22T12:00:00Z", False)]
)
def test_mark_of_lateness_that_the_known_time_contradicts_is_told(more, told):
    """The time may be that of a file in the student's own zip."""
    course = dataclasses.replace(parse_course(TEAM + more, REGISTRY), groups={})
    who = Who("Canvas", "7", submitted="2026-11-20T11:00:00+00:00", late=True)
    (found,) = Rules(course).apply([right("di", who=who)])
    assert found.score == 10.0
    assert (
        "Canvas marks it as late, but the time that nopeek knows" in " ".join(found.grade.notes)
    ) == told


@pytest.mark.parametrize(("platform", "late"), [("Canvas", False), ("Canvas", True), ("", False)])
def test_lateness_that_canvas_does_not_mark_is_told(platform, late):
    """The clock of the student's computer, which wrote the zip, may be wrong."""
    course = dataclasses.replace(parse_course(TEAM, REGISTRY), groups={})
    who = Who(platform, "7", submitted="2026-11-21T11:00:00+00:00", late=late)
    (found,) = Rules(course).apply([right("di", who=who)])
    assert found.score < 10.0
    told = "Canvas does not mark it as late." in found.grade.notes
    assert told == (platform == "Canvas" and not late)


def test_late_rule_without_times_is_told():
    """Otherwise nobody would be late, and the instructor would not learn it."""
    course = parse_course(TEAM.partition("[groups]")[0], REGISTRY)
    noon = "2026-11-20T11:00:00+00:00"
    class_ = [right("anna"), right("bo", who=Who(submitted=noon)), right("cy", who=Who("Canvas"))]
    class_.append(right("di", who=Who("Canvas", "4", late=True)))
    class_.append(right("eve", who=Who(absent="nothing was handed in")))
    (told,) = list_strangers(Rules(course), class_)
    assert told.startswith("late: no time is known for 2 students, so nothing is taken off")
    free = dataclasses.replace(course, late=None)
    assert list_strangers(Rules(free), class_) == []


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("here", ["s2", "s3"])
def test_student_who_could_be_several_people_takes_nothing_from_them(here, again):
    """Not even if all of these people but one are here under their own ids."""
    on = "2026-11-22T11:00:00+00:00"
    roster = [
        Person(id, frozenset((id, "Kim Lee", mail)), Who("", "", "Kim Lee", mail, submitted=on))
        for id, mail in (("s2", "k1@x.org"), ("s3", "k2@x.org"))
    ]
    course = parse_course(LATE + "[extensions]\ns3 = 2026-11-24T12:00:00Z\n", REGISTRY)
    change = Override(2, "s3", "", 3.0, False, "", "Tim", "today")
    class_ = [right(here), right("Kim Lee")]
    rules = Rules(course, [change], roster).unambiguous(class_)
    rules = rules.unambiguous(class_) if again else rules
    own, other = rules.apply(class_)
    assert (own.who.email, own.who.submitted) == ("k1@x.org" if here == "s2" else "k2@x.org", on)
    assert (own.score == 3.0) == (here == "s3")
    assert (other.who.email, other.who.submitted, other.score) == ("", "", 10.0)


def test_name_of_somebody_whom_two_claim_brings_no_extension_or_change(tmp_path):
    """One has the name, and the other has taken the address as a name."""
    (tmp_path / "roster.csv").write_text("student_id,name,email\ns1,Vera Abel,vera@x.org\n")
    extension = '[extensions]\n"vera@x.org" = 2026-12-30T00:00:00+01:00\n'
    course = parse_course(f"{LATE}{extension}", REGISTRY)
    change = Override(2, "vera@x.org", "", 15.0, False, "x", "Ohm", "today")
    class_ = [
        right(f"{name}_{number}", who=Who("Moodle", number, name))
        for name, number in (("Vera Abel", "11"), ("vera@x.org", "12"))
    ]
    rules = Rules(course, [change], tuple(read_roster(tmp_path / "roster.csv")))
    rules = rules.unambiguous(class_)
    assert (rules.course.extensions, rules.overrides) == ({}, [])


@pytest.mark.parametrize("name", ["Vera Abel", "vera@x.org", "s1"])
def test_name_of_a_member_of_a_team_brings_nothing(tmp_path, name):
    """The member has handed in with the team, so somebody else may have taken the name."""
    roster = "student_id,name,email,submitted\ns1,Vera Abel,vera@x.org,2026-11-20T10:00:00+01:00\n"
    (tmp_path / "roster.csv").write_text(roster)
    course = parse_course('title = "x"\n[groups]\n"Team 1" = ["s1"]\n', REGISTRY)
    change = Override(2, name, "", 15.0, False, "x", "Ohm", "today")
    team, other = (
        right(f"{called}_{number}", who=Who("Moodle", number, called))
        for called, number in (("Team 1", "55"), (name, "12"))
    )
    rules = Rules(course, [change], tuple(read_roster(tmp_path / "roster.csv")))
    told = list_strangers(rules, [team, other])
    assert f"{other.student} has the name of a member of Team 1_55" in told[0]
    assert "2 students are called" in told[1]
    rules = rules.unambiguous([team, other])
    assert not any(rules.is_for(one, other) for one in rules.overrides)
    assert rules.class_list.complete(other) == other
    assert rules.class_list.complete(team).who.submitted == "2026-11-20T10:00:00+01:00"


def test_two_works_with_the_name_of_a_team_get_no_members_time(tmp_path):
    roster = "student_id,submitted\ns1,2026-11-20T10:00:00+01:00\n"
    (tmp_path / "roster.csv").write_text(roster)
    course = parse_course('title = "x"\n[groups]\n"Team 1" = ["s1"]\n', REGISTRY)
    class_ = [
        right(f"Team 1_{number}", who=Who("Moodle", number, "Team 1")) for number in ("55", "12")
    ]
    rules = Rules(course, (), tuple(read_roster(tmp_path / "roster.csv")))
    assert "2 submissions are called Team 1" in list_strangers(rules, class_)[0]
    assert [*map(rules.unambiguous(class_).class_list.complete, class_)] == class_


# Somebody who is not on the class list takes a name of somebody who is.

TWINS = (
    "student_id,name,number,submitted\n"
    "ben,Ben Beck,13,2026-11-20T12:00:00+01:00\n"
    "b2,Ben Beck,17,2026-11-24T12:00:00+01:00\n"
    "cy,Cy Cole,14,2026-11-20T12:00:00+01:00\n"
)


@pytest.mark.parametrize("name", ["ben", "b2", "Ben Beck", "Cy Cole", "cy", "14", "13"])
@pytest.mark.parametrize("named", ["cy", "14", "ben", "b2", "17"])
def test_stranger_takes_no_time_and_no_change_from_whose_number_is_on_the_list(
    tmp_path, name, named
):
    (tmp_path / "roster.csv").write_text(TWINS)
    change = Override(2, named, "", 6.0, False, "x", "Ohm", "today")
    class_ = [
        right(f"{called}_{number}", who=Who("Moodle", number, called))
        for called, number in (("Cy Cole", "14"), ("Ben Beck", "13"), ("Ben Beck", "17"))
    ]
    stranger = right(f"{name}_77", who=Who("Moodle", "77", name))
    rules = Rules(Course(), [change], tuple(read_roster(tmp_path / "roster.csv")))
    alone = [*rules.unambiguous(class_).apply(class_)]
    told = list_strangers(rules, [*class_, stranger])
    *found, last = rules.unambiguous([*class_, stranger]).apply([*class_, stranger])
    assert [(one.score, one.who) for one in found] == [(one.score, one.who) for one in alone]
    assert (last.score, last.who) == (10.0, stranger.who)
    assert not any(one.startswith("overrides") for one in told)
    assert name.isdigit() or any("who has another number there" in one for one in told)


@pytest.mark.parametrize("number", ["", "12"])
def test_change_that_gets_lost_with_a_person_whom_several_may_be_is_told(tmp_path, number):
    people = f"student_id,name,number\nann,Ann Abel,{number}\nbo,Bo Zorn,13\n"
    (tmp_path / "roster.csv").write_text(people)
    change = Override(2, number or "ann", "", 6.0, False, "x", "Ohm", "today")
    class_ = [
        right(f"Ann Abel_{number}", who=Who("Moodle", number, "Ann Abel")) for number in ("5", "6")
    ]
    absent = not_gradable("ann", who=Who("", number, "Ann Abel", absent="nothing was handed in"))
    rules = Rules(Course(), [change], tuple(read_roster(tmp_path / "roster.csv")))
    told = [one for one in list_strangers(rules, [*class_, absent]) if "row 2" in one]
    lost = ["overrides, row 2: 3 students are called ann; it changes nothing."]
    assert told == ([] if number else lost)
    class_ = [*rules.unambiguous([*class_, absent]).apply([*class_, absent])]
    assert [one.score for one in class_] == [10.0, 10.0, 6.0 if number else None]


def test_stranger_called_like_two_people_puts_neither_off_the_list(tmp_path):
    (tmp_path / "roster.csv").write_text(TWINS)
    rules = Rules(Course(), (), tuple(read_roster(tmp_path / "roster.csv")))
    here, stranger = (Who("Moodle", number, "Ben Beck") for number in ("13", "18"))
    names = [one.id for one, _ in rules.class_list.list_absent([("a", here), ("b", stranger)])]
    assert names == ["b2", "cy"]


def test_folder_called_by_a_persons_number_does_not_take_the_place_of_the_very_id(tmp_path):
    (tmp_path / "roster.csv").write_text("student_id,name,number\ns1,Ana Abel,45\n")
    rules = Rules(Course(), (), tuple(read_roster(tmp_path / "roster.csv")))
    class_ = [right("45"), right("s1")]
    other, own = map(rules.unambiguous(class_).class_list.complete, class_)
    assert (other.who.name, own.who.name) == ("", "Ana Abel")
    assert "45 has a name of s1, who is another student" in list_strangers(rules, class_)[0]


# The numbers on the instructor's own list say who somebody is.

OWN = "student_id,name,number\nann,Ann Abel,11\nben,Ben Beck,12\ncy,Cy Cole,13\n"


def own_rules(tmp_path, change="ben", text=OWN):
    (tmp_path / "roster.csv").write_text(text)
    people = tuple(read_roster(tmp_path / "roster.csv"))
    return Rules(Course(), [Override(2, change, "", 6.0, False, "x", "Ohm", "today")], people)


@pytest.mark.parametrize("change", ["ben", "Ben Beck", "12"])
@pytest.mark.parametrize("called", ["Benny B", None])
def test_stranger_with_the_name_of_a_number_on_the_list_gets_nothing(tmp_path, change, called):
    rules = own_rules(tmp_path, change)
    class_ = [in_folder("Ann Abel", "11"), in_folder("Ben Beck", "20")]
    class_ += [in_folder(called, "12")] if called else []
    here = [(one.student, one.who) for one in class_]
    absent = next(one for one, _ in rules.class_list.list_absent(here) if one.id == "ben")
    class_.append(not_gradable("ben", who=dataclasses.replace(absent.who, absent="nothing")))
    found = {one.student: one.score for one in rules.unambiguous(class_).apply(class_)}
    assert found["Ben Beck_20"] == 10.0
    assert found["ben"] == 6.0 or called
    told = "Ben Beck_20 has a name of ben, who has another number there"
    assert any(told in one for one in list_strangers(rules, class_))


@pytest.mark.parametrize(
    ("students", "trusted"),
    [
        ([("Ann Abel", "11"), ("Ben Beck", "12")], True),
        ([("Ann Abel", "11"), ("Ben Beck", "20"), ("Cy Cole", "21")], False),
        ([("Ann Abel", "11"), ("Ben Beck", "20"), ("Ben Beck", "21")], True),
        ([("Ann Abel", "11"), ("Ben Beck", "12"), ("Ben Beck", "20"), ("Cy Cole", "21")], True),
        ([("Ben Beck", "20")], True),
        ([("Ann Abel", "1"), ("Ben Beck", "2"), ("Cy Cole", "3")], False),
        ([("Eva Egger", "11"), ("Ben Beck", "11")], True),
    ],
)
def test_numbers_on_the_list_count_unless_most_names_have_others(tmp_path, students, trusted):
    rules = own_rules(tmp_path)
    class_ = [in_folder(*one) for one in students]
    found = trust_numbers(rules.roster, {}, [(one.student, one.who) for one in class_])
    assert found == trusted
    few = "".join(f"s{n},Someone {n},\n" for n in range(9))
    rules = own_rules(tmp_path, text=OWN + few)
    right_one = ("Ann Abel", "11") in students
    found = trust_numbers(rules.roster, {}, [(one.student, one.who) for one in class_])
    assert found == (trusted or right_one)


def test_numbers_that_do_not_count_leave_the_names(tmp_path):
    rules = own_rules(tmp_path, text=OWN.replace("12", "5"))
    class_ = [in_folder("Ben Beck", "12")]
    rules = dataclasses.replace(rules, trusted=False)
    (found,) = rules.unambiguous(class_).apply(class_)
    assert found.score == 6.0
    assert "its numbers do not count" in " ".join(list_strangers(rules, class_))


def test_numbers_that_nobody_has_are_told(tmp_path):
    rules = own_rules(tmp_path)
    told = "nobody here has a number of it"
    assert told in " ".join(list_strangers(rules, [in_folder("Dora Dorn", "77")]))
    assert told not in " ".join(list_strangers(rules, [in_folder("Ann Abel", "11")]))
    assert told not in " ".join(list_strangers(rules, [right("ann")]))


@pytest.mark.parametrize("members", [["anna@x.org", "ben@x.org"], ["Anna Abel", "Ben Beck"]])
def test_team_is_nobody_by_its_number(tmp_path, members):
    """Its number is the team's on Moodle, and may be a person's on the list."""
    (tmp_path / "roster.csv").write_text(
        "student_id,name,number,submitted\ns3,Anna Meier,55,2026-11-27T12:00:00+01:00\n"
    )
    people = tuple(read_roster(tmp_path / "roster.csv"))
    rules = Rules(Course(groups={"Anna und Ben": members}), (), people)
    work = in_folder("Anna und Ben", "55")
    assert rules.class_list.complete(work) == work
    (found,) = rules.unambiguous([work]).apply([work])
    assert found.who == work.who
    absent = [one.id for one, _ in rules.class_list.list_absent([(work.student, work.who)])]
    assert absent == ["s3"]


@pytest.mark.parametrize("number", ["12", ""])
@pytest.mark.parametrize("change", ["ben", "Ben Beck"])
def test_work_of_a_team_is_nobodys_who_has_its_name(tmp_path, number, change):
    """Only teams have no number in a folder's name on Moodle."""
    rules = own_rules(tmp_path, change, OWN.replace("12", number))
    work = right("Ben Beck", who=Who("Moodle", "", "Ben Beck"))
    assert absent(rules, [work]) == ["ann", "ben", "cy"]
    ben = next(one.who for one in rules.roster if one.id == "ben")
    class_ = [work, not_gradable("ben", who=dataclasses.replace(ben, absent="nothing"))]
    team, alone = rules.unambiguous(class_).apply(class_)
    assert (team.score, team.who) == (10.0, work.who)
    told = list_strangers(rules, class_)
    sure = change == "ben"
    assert alone.score == (6.0 if sure else None)
    assert sure == (
        "overrides, row 2: 2 students are called Ben Beck; it changes nothing." not in told
    )


def test_teams_from_moodle_that_are_not_in_groups_are_told():
    works = [right(name, who=Who("Moodle", "", name)) for name in ("Team 1", "Team 2", "Team 3")]
    rules = Rules(Course(groups={"Team 1": ["ann"]}))
    assert list_strangers(rules, works[:1]) == []
    assert list_strangers(rules, works) == [
        "groups: only a team's folder from Moodle has no number, so nobody gets the grade of "
        "Team 2, Team 3: name the members in `[groups]`."
    ]


@pytest.mark.parametrize(
    ("second", "chosen"), [("Ole Nguyen", "Ole Nguyen"), ("O'le Nguyen", "Ole Nguyen")]
)
def test_name_of_two_people_on_the_list_changes_nothing_if_one_hands_in(tmp_path, second, chosen):
    text = f"student_id,name\non1,Ole Nguyen\non2,{second}\ncy,Cy Cole\n"
    (tmp_path / "roster.csv").write_text(text)
    people = tuple(read_roster(tmp_path / "roster.csv"))
    course = parse_course(f'{LATE}[extensions]\n"{chosen}" = 2026-11-24T12:00:00Z\n', REGISTRY)
    change = Override(2, chosen, "", 6.0, False, "x", "Ohm", "today")
    work = in_folder("Ole Nguyen", "4040")
    rules = Rules(course, [change], people)
    (found,) = rules.unambiguous([work]).apply([work])
    assert (found.score, found.grade.notes) == (10.0, ())
    told = list_strangers(rules, [work])
    assert (
        f"overrides, row 2: 2 people on the class list are called {chosen}; it changes nothing."
        in told
    )
    assert f"extensions: 2 people on the class list are called {chosen}." in told
    rules = Rules(Course(), [dataclasses.replace(change, student="cy")], people)
    cy = in_folder("Cy Cole", "4041")
    assert [one.score for one in rules.unambiguous([work, cy]).apply([work, cy])] == [10.0, 6.0]


IDENTIFIERS = (
    "student_id,name,number\nanna,Anna Abel,Participant 4711\nmal,Mal Moe,Participant 4712\n"
)


@pytest.mark.parametrize("hands_in", [True, False])
@pytest.mark.parametrize("number", ["4712", "4799"])  # on the list, and not
def test_identifier_of_moodle_on_the_list_is_the_number(tmp_path, number, hands_in):
    """Nobody else has it, whatever name they choose."""
    (tmp_path / "roster.csv").write_text(IDENTIFIERS)
    people = tuple(read_roster(tmp_path / "roster.csv"))
    text = f'{LATE}[extensions]\n"Participant 4711" = 2026-11-24T12:00:00Z\n'
    change = Override(2, "Participant 4711", "", 6.0, False, "x", "Ohm", "today")
    rules = Rules(parse_course(text, REGISTRY), [change], people)
    away = dataclasses.replace(people[0].who, absent="nothing")
    anna = in_folder("Anna Abel", "4711") if hands_in else not_gradable("anna", who=away)
    class_ = [in_folder("Participant 4711", number), anna]
    other, own = rules.unambiguous(class_).apply(class_)
    assert (other.score, other.grade.notes) == (10.0, ())
    assert own.score == 6.0
    assert any("Extended" in note for note in own.grade.notes) == hands_in
    assert [one for one in list_strangers(rules, class_) if "4711." in one or "row" in one] == []


def test_identifier_of_moodle_names_a_member_of_a_team(tmp_path):
    (tmp_path / "roster.csv").write_text(IDENTIFIERS)
    people = tuple(read_roster(tmp_path / "roster.csv"))
    rules = Rules(Course(groups={"Team 1": ["Participant 4711"]}), (), people)
    work = right("Team 1", who=Who("Moodle", "", "Team 1"))
    assert absent(rules, [work]) == ["mal"]


def test_own_list_without_names_is_matched_by_identifiers_of_moodle(tmp_path):
    (tmp_path / "roster.csv").write_text("student_id,number\ns1001,Participant 4711\n")
    rules = Rules(Course(), (), tuple(read_roster(tmp_path / "roster.csv")))
    assert absent(rules, [in_folder("Anna Abel", "4711")]) == []
    rules = dataclasses.replace(rules, trusted=False)
    assert absent(rules, [in_folder("Participant 4711", "4712")]) == ["s1001"]


def listed(tmp_path, text):
    (tmp_path / "roster.csv").write_text(f"student_id,name,email,number\n{text}")
    return tuple(read_roster(tmp_path / "roster.csv"))


TEAM_ONE = right("Team 1", who=Who("Moodle", "", "Team 1"))


def test_team_on_the_own_list_is_found_by_its_id(tmp_path):
    rules = Rules(Course(), (), listed(tmp_path, "Team 1,,t1@x,\nTeam 2,,t2@x,\n"))
    assert absent(rules, [TEAM_ONE]) == ["Team 2"]
    (found,) = rules.apply([TEAM_ONE])
    assert found.who.email == "t1@x"
    (told,) = list_strangers(rules, [TEAM_ONE])
    assert told.endswith("so on the class list Team 1 must be a team.")


@pytest.mark.parametrize(
    ("roster", "groups"),
    [
        ("Team 1,Ann Abel,a@x,\nben,Ben Beck,b@x,\n", {}),
        ("Team 1,,a@x,\nben,,b@x,\n", {"Team 2": ["Team 1", "ben"]}),
    ],
    ids=["by another name", "in a team"],
)
def test_team_is_no_person_on_the_list(tmp_path, roster, groups):
    rules = Rules(Course(groups=groups), (), listed(tmp_path, roster))
    (found,) = rules.apply([TEAM_ONE])
    assert (found.who.email, found.who.name) == ("", "Team 1")
    told = list_strangers(rules, [TEAM_ONE])
    assert any("nobody gets the grade of Team 1" in one for one in told)


@pytest.mark.parametrize(
    ("work", "roster"),
    [
        (right("Team 1"), "Team 1,,t1@x,\nben,Ben Beck,b@x,\n"),
        (TEAM_ONE, "Team 1,,t1@x,16\nben,Ben Beck,b@x,\n"),
    ],
    ids=["in own folders", "from Moodle, of somebody with a number"],
)
def test_nobody_is_without_work_under_the_id_of_a_teams_work(tmp_path, work, roster):
    """The mark would take the place of the team's."""
    course = Course(groups={"Team 1": ["ben"]})
    rules = Rules(course, (), listed(tmp_path, roster))
    assert absent(rules, [work]) == []
    (told,) = list_strangers(rules, [work])
    assert told.startswith("groups: Team 1: on the class list a person has the id")


def test_student_with_the_name_of_a_listed_team_gets_nothing_of_it(tmp_path):
    late = "2026-11-25T12:00:00Z"
    (tmp_path / "roster.csv").write_text(f"student_id,email,submitted\nTeam 1,t1@x,{late}\n")
    rules = Rules(parse_course(LATE, REGISTRY), (), tuple(read_roster(tmp_path / "roster.csv")))
    class_ = [TEAM_ONE, in_folder("Team 1", "14")]
    found = rules.unambiguous(class_).apply(class_)
    assert [(one.score, one.who.email) for one in found] == [(10.0, ""), (10.0, "")]
    assert any("2 students are called Team 1" in told for told in list_strangers(rules, class_))


def test_leader_who_is_no_member_is_told_of(tmp_path):
    rules = Rules(Course(groups={"ann": ["ben"]}), (), listed(tmp_path, "ann,,,\nben,,,\n"))
    assert absent(rules, [right("ann")]) == []
    (told,) = list_strangers(rules, [right("ann")])
    assert told.startswith("groups: ann: on the class list")
    rules = Rules(Course(groups={"ann": ["ann", "ben"]}), (), listed(tmp_path, "ann,,,\nben,,,\n"))
    assert list_strangers(rules, [right("ann")]) == []


@pytest.mark.parametrize("written", ["Participant 2", "Teilnehmer/in 2"])
def test_identifier_of_moodle_is_no_id(tmp_path, written):
    """The id `2` is another person's."""
    people = listed(tmp_path, f"1,Di Dorn,,{written}\n2,Ben Beck,,\n3,Cy Cole,,\n")
    change = Override(2, written, "", 6.0, False, "x", "Ohm", "today")
    text = f'{LATE}[extensions]\n"{written}" = 2026-11-24T12:00:00Z\n[groups]\nT = ["1", "3"]\n'
    rules = Rules(parse_course(text, REGISTRY), [change], people)
    class_ = [right("T"), right("2")]
    assert [one.score for one in rules.unambiguous(class_).apply(class_)] == [10.0, 10.0]
    (told,) = (one for one in list_strangers(rules, class_) if "row" in one)
    assert told.endswith(f"is called {written}; it changes nothing.")
    rules = Rules(Course(), [change], people)
    class_ = [right("1"), right("2")]
    assert [one.score for one in rules.unambiguous(class_).apply(class_)] == [6.0, 10.0]


def test_member_is_found_by_id_before_anybodys_number(tmp_path):
    people = listed(tmp_path, "11,Ann Abel,,12\n12,Ben Beck,,13\n13,Cy Cole,,17\n")
    rules = Rules(Course(groups={"T": ["11", "12"], "U": ["13"]}), (), people)
    assert absent(rules, [right("T"), right("U")]) == []


def test_id_that_is_also_the_number_stays_where_numbers_do_not_count(tmp_path):
    people = listed(tmp_path, "11,Ann Abel,,11\n12,Ben Beck,,12\n")
    rules = Rules(Course(groups={"T": ["11", "12"]}), (), people, trusted=False)
    assert absent(rules, [right("T")]) == []


@pytest.mark.parametrize("called", ["Participant ", "Teilnehmer/in"])
def test_person_is_found_by_number_in_blind_marking(tmp_path, called):
    people = listed(tmp_path, f"anna,Anna Abel,,{called}4711\nben,Ben Beck,,{called}4712\n")
    rules = Rules(Course(), (), people)
    work = in_folder(called.strip().replace("/", ""), "4711")
    assert absent(rules, [work]) == ["ben"]
    assert list_strangers(rules, [work]) == []
    assert absent(rules, [in_folder("Zoe Zed", "4711")]) == ["anna", "ben"]
    assert absent(rules, [in_folder("", "4799")]) == ["anna", "ben"]
