"""Class lists and assignment files: what is read of them, and that wrong ones are one sentence."""

import csv
import itertools
import random
import re

import pytest

from grader.classroom.course import parse_course
from grader.classroom.exports.gradebooks import LAYOUTS
from grader.classroom.marking import Rules
from grader.classroom.notices import list_strangers
from grader.classroom.overrides import HEADER, edit, read_overrides
from grader.classroom.serving import _show_step
from grader.classroom.tables import read_roster, read_time
from grader.report.problem import CourseError
from grader.report.records import Graded, Who
from grader.steps import registry
from grader.steps.stubs import solution_of
from tests.support.classes import filled, right

REGISTRY = registry.load()
TIMES = {
    "Friday, 20 November 2026, 11:10 PM": "2026-11-20T23:10:00+01:00",
    "Friday, 3 July 2026, 12:05 AM": "2026-07-03T00:05:00+02:00",
    "Friday, 20 November 2026, 23:10": "2026-11-20T23:10:00+01:00",
    "Friday, November 20, 2026, 11:10 PM": "2026-11-20T23:10:00+01:00",
    "July 3 2026, 12:05 AM": "2026-07-03T00:05:00+02:00",
    "Freitag, 20. November 2026, 23:10": "",
    "Friday, 31 February 2026, 10:10 AM": "",
    "-": "",
}


@pytest.mark.parametrize(("text", "wanted"), TIMES.items(), ids=TIMES)
def test_time_is_read_if_its_zone_is_known(text, wanted):
    assert read_time(text, "Europe/Berlin") == (wanted or text)
    assert read_time(text, "") == text


NOVEMBER = "Friday, 20 November 2026, 11:10 PM"


def worksheet(folder, *texts, mail=True, overrides=(), times=(NOVEMBER,)):
    """The path of a worksheet of Moodle with what each student has typed."""
    head = ["Identifier", "Full name", *["Email address"] * mail, "Status"]
    head += [f"Override {number}" for number in range(len(overrides))]
    head += ["Grade", "Maximum Grade", "Last modified (submission)"]
    rows = [[*head, "Online text", "Last modified (grade)"]]
    for n, (text, time) in enumerate(zip(texts, itertools.cycle(times)), 1):
        row = [f"Participant {n}", f"Name {n}", *[f"n{n}@x.org"] * mail, "", *overrides, "", "10"]
        rows.append([*row, time, text, "-"])
    with (folder / "w.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder / "w.csv"


@pytest.mark.parametrize("texts", [["x" * 140_000, ""], ["x" * 120_000] * 10], ids=["one", "many"])
def test_text_that_a_student_has_typed_may_be_of_any_length(tmp_path, texts):
    """It is in Moodle's worksheet, and one text would keep the whole class from being graded."""
    path = worksheet(tmp_path, *texts)
    people = read_roster(path, "Europe/Berlin")
    assert [one.who.submitted for one in people] == ["2026-11-20T23:10:00+01:00"] * len(texts)
    assert filled("Moodle", path.read_text(encoding="utf-8"), []).written == 0


@pytest.mark.parametrize("text", ["anna@x.org", "return q @ k.T"])
@pytest.mark.parametrize("mail", [True, False])
def test_text_that_a_student_has_typed_is_no_address(tmp_path, text, mail):
    """The student would have the extension or the place in a team of whoever has that address."""
    wanted = [f"n{number}@x.org" * mail for number in (1, 2, 3)]
    people = read_roster(worksheet(tmp_path, "", text, "", mail=mail))
    assert [one.who.email for one in people] == wanted


COURSE = (
    'title = "x"\nsteps = ["2"]\npoints = 5\ndue = 2026-01-01T00:00:00Z\n[late]\n'
    'percent_per_day = 1\n[extensions]\n"a" = 2026-01-02T00:00:00Z\n[groups]\n"T" = ["a"]\n'
)
CHANGES = f"{HEADER}\nanna,2,5,,c,T,t\nbo,,,yes,,T,t\n"
MOODLE = 'Identifier,Name,x,y\nParticipant 1,A,"1 May 2026, 10:10",-\nParticipant 2,B,-,-\n'
CANVAS = 'Student,ID,SIS User ID\n"Abel, Anna",12,s\n"Beck, Bo",13,t\n'


def garbled(text, count=400):
    """The text with a few characters lost, doubled or in the place of others."""
    draw = random.Random(7)
    for _ in range(count):
        letters = list(text)
        for _ in range(draw.randint(1, 4)):
            other = draw.choice([draw.choice(text), '"', "\n", ",", "\0", "=", "[", "9", ""])
            letters[draw.randrange(len(letters))] = other
        yield "".join(letters)


def refusals(read, texts):
    """Return the sentences with which some of these texts are refused."""
    found = set()
    for text in texts:
        try:
            read(text)
        except CourseError as refused:
            found.add(str(refused))
    assert all("\n" not in one and len(one) < 500 for one in found)
    return found


def test_garbled_assignment_is_read_or_refused_in_a_sentence():
    assert len(refusals(lambda text: parse_course(text, REGISTRY), garbled(COURSE))) > 10


@pytest.mark.parametrize("text", [CHANGES, MOODLE, CANVAS], ids=["changes", "Moodle", "Canvas"])
def test_garbled_table_is_read_or_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "t.csv"

    def written(one):
        path.write_text(one, encoding="utf-8")
        return path

    found = refusals(lambda one: read_roster(written(one)), garbled(text))
    found |= refusals(lambda one: read_overrides(written(one), REGISTRY), garbled(text))
    assert len(found) > 3


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda one: one.platform)
def test_garbled_table_is_filled_in_or_refused_in_a_sentence(layout):
    header = layout.example.split(",")
    rows = [["Participant 1"], ["#s1"] * 2, ["Anna"] * 3] + [[f"p{n}"] for n in range(3)]
    rows = [[*row, *["1"] * len(header)][: len(header)] for row in rows]
    text = "\n".join(",".join(row) for row in [header, ["    Points Possible"] * 9, *rows])
    column = layout.only or next(name for name in header if re.fullmatch(layout.grade, name))
    class_ = [Graded("s1", None), right("Anna"), right("p1", who=Who("Moodle", "1", "Anna"))]

    def fill_in(text):
        merged = filled(layout.platform, text, class_, column=column)
        assert len(merged.text) >= len(text) - 9

    assert len(refusals(fill_in, [text, *garbled(text)])) > 1


def test_source_is_shown_without_lessons_and_with_its_line_numbers():
    step = REGISTRY.find("3")
    source = solution_of(step)
    shown = str(_show_step(source, step))
    assert len(source) > 8000
    assert "# %% [markdown]" not in shown
    number = 1 + source.split("\n").index("def apply_mask(scores, mask):")
    assert f"{number:4}  def apply_mask(scores, mask):" in shown
    assert "more characters" not in shown


def test_lesson_that_a_student_has_written_in_is_shown():
    step = REGISTRY.find("2")
    source = solution_of(step).replace("# # Step 2", "# # My own Step 2", 1)
    assert "My own Step 2" in _show_step(source, step)


@pytest.mark.parametrize("first", ["", "s", "Student "], ids=["numbers", "letter", "word"])
def test_own_class_list_with_numbers_as_ids_is_no_worksheet(tmp_path, first):
    """As a worksheet of Moodle, it would lose its times, and its ids would be Moodle's numbers."""
    path = tmp_path / "list.csv"
    rows = [f"{first}{id},{name},2026-11-25 12:00" for id, name in ((1, "Anna Abel"), (2, "Bo"))]
    path.write_text("\n".join(["student_id,name,submitted", *rows]), encoding="utf-8")
    anna, bo = read_roster(path, "Europe/Berlin")
    assert (anna.id, bo.id) == (f"{first}1", f"{first}2")
    assert (anna.who.platform, anna.who.number) == ("", "")
    assert anna.who.submitted == "2026-11-25T12:00:00+01:00"
    assert read_roster(path)[0].who.submitted == "2026-11-25 12:00"  # which `grade` tells


OVERRIDES = "Friday, November 20, 2026, 12:00 AM"
HANDED_IN = "Sunday, November 22, 2026, 12:00 PM"


def read_times(path, zone):
    """When the first student of a worksheet handed in, and what `grade` says of the times."""
    people = read_roster(path, zone)
    late = "due = 2026-11-20T12:00:00Z\n[late]\npercent_per_day = 10\n"
    course = parse_course(f'title = "x"\ntimezone = "{zone}"\n{late}', REGISTRY)
    anna = Graded("Name 1_1", None, who=Who("Moodle", "1", "Name 1"))
    return people[0].who.submitted, list_strangers(Rules(course, (), people).settle([anna]))


@pytest.mark.parametrize("before", [(), (OVERRIDES, OVERRIDES, "-")], ids=["", "overrides"])
@pytest.mark.parametrize("typed", ["", "x", OVERRIDES], ids=["", "text", "time"])
def test_time_of_a_worksheet_is_when_the_work_came(tmp_path, before, typed):
    path = worksheet(tmp_path, typed, "", overrides=before, times=(HANDED_IN, "-"))
    assert read_times(path, "America/Chicago") == ("2026-11-22T12:00:00-06:00", [])


@pytest.mark.parametrize(("when", "zone"), [(HANDED_IN, ""), ("2026年11月22日", "Asia/Tokyo")])
def test_times_of_a_worksheet_that_are_not_read_are_told(tmp_path, when, zone):
    """Else late work silently has all of its points."""
    _, (told,) = read_times(worksheet(tmp_path, "", "", times=(when, "-")), zone)
    assert f"1 of 1 times are not read, such as {when!r} of Name 1_1: " in told
    assert ("set `timezone`" in told) is (zone == "")


@pytest.mark.parametrize("id", ["1.23E+16", "1202.0", "1,202"])
def test_gradebook_whose_numbers_a_spreadsheet_has_rounded_is_refused(tmp_path, id):
    """Else these students are silently on no list, and nobody sees that their work is missing."""
    path = tmp_path / "gradebook.csv"
    rows = f'    Points Possible,,,\n"Abel, Anna",1201,anna,S\n"Beck, Bo","{id}",bo,S\n'
    path.write_text(f"Student,ID,SIS Login ID,Section\n{rows}", encoding="utf-8")
    with pytest.raises(CourseError, match="is not an ID of Canvas: export the gradebook again"):
        read_roster(path)


@pytest.mark.parametrize(
    ("text", "points"),
    [("0,125", 0.125), ("2,5", 2.5), (" 5 ", 5), ("1.000", 1), ("1,000", None), ("12,500", None)]
    + [(odd, None) for odd in ("1e3", "５", "nan", "inf", "-1", "+3", "0x5", "1_0")],
)
def test_points_of_a_change_have_one_meaning(tmp_path, text, points):
    path = tmp_path / "overrides.csv"
    path.write_text(f'{HEADER}\nanna,all,"{text}",,c,Tim,today\n', encoding="utf-8")
    if points is None:
        with pytest.raises(CourseError, match="`points`"):
            read_overrides(path, REGISTRY)
    else:
        assert [one.points for one in read_overrides(path, REGISTRY)] == [points]


BAD = {
    "TOML": ("title = ", "it is not TOML"),
    "no title": ("points = 3", "it has no title"),
    "unknown key": ('title = "x"\npoint = 3', "is `points` meant?"),
    "no zone": ('title = "x"\ndue = 2026-11-20T23:59:00', "has no time zone"),
    "zone": ('title = "x"\ntimezone = "../../etc/passwd"', "`timezone` is unknown here"),
    "step": ('title = "x"\nsteps = ["99"]', "there is no step '99'"),
    "negative": ('title = "x"\npoints = -1', "must be a number from 0"),
    "not finite": ('title = "x"\npoints = inf', "must be a number from 0"),
    "weight": ('title = "x"\nsteps = ["1"]\n[weights]\n2 = 3', "is not among `steps`"),
    "late without due": ('title = "x"\n[late]\npercent_per_day = 5', "needs a deadline"),
    "drop all": ('title = "x"\nsteps = ["1"]\ndrop = 1', "must be a whole number below 1"),
    "folder": ('title = "x"\nname = "../x"', "it names a folder"),
    "group": ('title = "x"\n[groups]\nRed = "Ann"', "[groups] 'Red' must be a list"),
    "deep": ("x = " + "[" * 5000, "it is not TOML"),
    "no step": ('title = "x"\nsteps = []', "`steps` names no step"),
    "extra credit only": ('title = "x"\nsteps = ["2"]\nextra_credit = ["2"]', "no step counts"),
    "no weight": ('title = "x"\nsteps = ["2"]\n[weights]\n2 = 0', "no step counts"),
    "drop all that count": (
        'title = "x"\nsteps = ["2", "3"]\ndrop = 1\n[weights]\n3 = 0',
        "`drop` must be a whole number below 1",
    ),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD)
def test_wrong_course_file_is_one_sentence(text, reason):
    with pytest.raises(CourseError) as found:
        parse_course(text, REGISTRY)
    assert reason in str(found.value)
    assert "\n" not in str(found.value)


BAD_ROWS = {
    "nobody": (",2,5,,c,Tim,today", "whose is it?"),
    "no signature": ("anna,2,5,,c,,today", "fill in `who`"),
    "points": ("anna,2,-5,,c,Tim,today", "`points` must be a number"),
    "step": ("anna,99,5,,c,Tim,today", "there is no step or check '99'"),
    "nothing": ("anna,2,,,,Tim,today", "it changes nothing"),
    "both": ("anna,2,5,yes,,Tim,today", "not both"),
    "twice": ("anna,2,5,,,Tim,today\nanna,2,6,,,Tim,today", "rows 2 and 3 change the same"),
    "quote": ('anna,"2,5', "a quote in it is not closed"),
    "check that is called like a step": ("anna,step_arguments,,yes,,T,t", "can be excused"),
    "points of a line": ("anna,3:12,4,,,Tim,today", "can have a comment only"),
    "no line": ("anna,3:x,,,sign?,Tim,today", "can have a comment only"),
    "line of the whole": ("anna,:12,,,sign?,Tim,today", "a line of a step, such as"),
    "line of a check": ("anna,scores_agree:2,,,sign?,Tim,today", "a line of a step, such as"),
}


@pytest.mark.parametrize(("text", "reason"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_wrong_change_is_one_sentence(tmp_path, text, reason):
    (tmp_path / "o.csv").write_text(f"{HEADER}\n{text}\n", encoding="utf-8")
    with pytest.raises(CourseError) as found:
        read_overrides(tmp_path / "o.csv", REGISTRY)
    assert reason in str(found.value)
    assert "\n" not in str(found.value)


def test_empty_file_changes_nothing_and_can_be_added_to(tmp_path):
    path = tmp_path / "overrides.csv"
    path.touch()
    assert read_overrides(path, REGISTRY) == []
    cells = {"student_id": "anna", "points": "3", "who": "Tim", "when": "today"}
    edit(path, REGISTRY, [], cells)
    assert [one.student for one in read_overrides(path, REGISTRY)] == ["anna"]


@pytest.mark.parametrize(
    ("written", "number"),
    [("4712", "4712"), ("Participant 4712", "4712"), ("benbeck1", "benbeck1"), ("K 47", "K 47")],
)
def test_number_may_be_written_as_moodles_identifier(tmp_path, written, number):
    (tmp_path / "roster.csv").write_text(f"student_id,number\nben,{written}\n", encoding="utf-8")
    (person,) = read_roster(tmp_path / "roster.csv")
    assert (person.who.number, number in person.names) == (number, True)
