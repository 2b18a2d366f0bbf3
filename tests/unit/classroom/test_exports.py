"""The exports, each against the rules of the program that reads it."""

import csv
import dataclasses
import io
import json
from xml.etree import ElementTree

import pytest

from grader.classroom.exports import FORMATS, Options
from grader.classroom.exports.cells import protect_cell, replace_cells, row, text_of
from grader.classroom.exports.grades import changes, nbgrader
from grader.classroom.exports.returning import describe
from grader.classroom.people import resolve
from grader.report.html.page import feedback
from grader.report.problem import CourseError
from grader.report.records import Change, Grade, Graded, Status, Who
from tests.support.classes import (
    COLUMNS,
    HOSTILE,
    check,
    filled,
    not_gradable,
    report,
    right,
    step,
    unscaled,
    wrong,
)

CLASS = (right(), wrong(), not_gradable())
OPTIONS = Options(COLUMNS, graded_at="2026-11-20T12:00:00+00:00", overwrite=True)
hostile = pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)


def whole(name, class_=CLASS, options=None):
    options = options or dataclasses.replace(OPTIONS, answer=resolve(class_))
    return "".join(FORMATS[name].write(class_, options))


def table(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def each(name, graded, options=OPTIONS):
    text = FORMATS[name].write(graded, options)
    return None if text is None else json.loads(text)


# text and CSV


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\ta", "  =1"])
def test_only_a_cell_that_starts_a_formula_gets_a_quote(text):
    assert protect_cell(text) == f"'{text}"
    for other in ("alice", "a=b", "", " a", "1-2", "a; b", "a, -5"):
        assert protect_cell(other) == other


FORMULAS = ("=1+1", " =1", '"=1"', "-2+3", "+1", "@a", "\uff1d1")
SPLITS = [f"{before}{by}{f}" for by in ";|\t" for before in ("a", 'a"') for f in FORMULAS]


@pytest.mark.parametrize("text", SPLITS)
def test_cell_begins_no_formula_where_a_spreadsheet_is_set_to_another_separator(text):
    written = row(["x", protect_cell(text), "y"])
    for by in ";|\t":
        for part in written.split(by)[1:]:
            assert part.lstrip(' "')[:1] not in ("=", "+", "-", "@", "\uff1d")
    assert text_of(protect_cell(text)) == text


@pytest.mark.parametrize("format_", ["csv", "excel", "nbgrader", "mail"])
def test_no_export_has_a_formula_behind_a_semicolon(format_):
    hostile = "Ann;=1+1"
    who = Who("Moodle", hostile, hostile, hostile, submitted=hostile)
    mine = dataclasses.replace(wrong(hostile), who=who, reason=hostile)
    assert ";=" not in whole(format_, [mine, not_gradable(hostile, reason=hostile)])


def test_grades_file():
    assert whole("csv") == (
        "student_id,score,max_score,step02_scores,step03_mask,note,state,name,number,email\n"
        "alice,10,10,5,5,,,,,\n"
        "bob,5,10,0,5,,,,,\n"
        "carol,,,,,the zip holds more than 200 files,,,,\n"
    )


def test_grades_of_a_step_that_was_not_graded_are_empty():
    one = Graded("dan", report(step(check(points=0.1), check("b", points=0.2))))
    assert table(whole("csv", [one]))[1] == ["dan", "0.3", "0.3", "0.3", "", "", "", "", "", ""]


@pytest.mark.parametrize("format_", ["csv", "nbgrader"])
@hostile
def test_csv_keeps_one_row_per_student_and_no_formula(format_, name):
    class_ = [right("first"), wrong(name), not_gradable(name, reason=name), right("last")]
    text = whole(format_, class_)
    text.encode("utf-8")
    rows = table(text)
    assert [len(row) for row in rows] == [len(rows[0])] * 5
    for found in rows[1:]:
        for text in found:
            assert not text.startswith(("=", "+", "-", "@", "\t"))
            assert text.replace("\t", "").isprintable()


def test_nbgrader_columns():
    rows = table(whole("nbgrader"))
    assert ",".join(rows[0]) == (
        "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
        "raw_score,late_submission_penalty,score,max_score"
    )
    assert rows[2] == ["nopeek", "", "", "bob", "", "", "", "5", "0", "5", "10"]
    assert rows[3] == ["nopeek", "", "", "carol", "", "", "", "", "", "", ""]


# per student


def graded_by_hand(points, *notes, score=10.0, **more):
    """Half right work, whose grade is by hand."""
    grade = Grade(score, 10.0, points, notes, **more)
    return dataclasses.replace(wrong(), grade=grade)


NOTES = [f"{title}: excused (Tim, 2026)." for title in ("Scores", "Masks")]
UNREAD = dataclasses.replace(
    step(name="step03_mask", title="Masks", status=Status.ERROR), gradable=False, max_points=5.0
)
# Who is graded -> the points of the steps, and what the student is told.
EXCUSED = {
    "a step": (
        graded_by_hand({COLUMNS[1]: 5.0}, NOTES[0]),
        ["", "5"],
        ["Points: 10 of 10.", NOTES[0], "Masks: 5 of 5."],
    ),
    "all": (
        *(graded_by_hand({}, *NOTES, score=None, excused=True), ["", ""]),
        ["Excused.", *NOTES],
    ),
    "a step that could not be read": (
        *(Graded("dan", report(step(check(points=5.0)), UNREAD)), ["5", ""]),
        ["Points: 5 of 10.", "Scaled scores: 5 of 5."],
    ),
}


@pytest.mark.parametrize(("graded", "points", "told"), EXCUSED.values(), ids=EXCUSED)
def test_excused_or_unread_step_is_no_zero_and_nothing_to_work_on(graded, points, told):
    (_, row) = table(whole("csv", [graded]))
    assert row[3:5] == points
    assert describe(graded)[: len(told)] == told
    assert not any(line.startswith("Masks: 0") for line in describe(graded))


def test_text_for_canvas_has_the_points_that_count():
    graded = graded_by_hand({COLUMNS[0]: 5.0, COLUMNS[1]: 5.0}, "Scores: 5 instead of 0.")
    said = describe(graded, checks=True)
    assert [one for one in said if " of 5" in one] == ["Scaled scores: 5 of 5.", "Masks: 5 of 5."]
    assert "  The rule of scores_agree. All 4 values are wrong." in said


def test_gradescope_results():
    data = each("gradescope", wrong(warnings=("cell 3 was passed over",)))
    assert (data["score"], data["execution_time"]) == (5.0, 2)
    assert (data["visibility"], data["stdout_visibility"]) == ("visible", "hidden")
    assert "cell 3 was passed over" in data["output"]
    keys = ("number", "status", "score", "max_score", "visibility")
    assert [tuple(map(test.get, keys)) for test in data["tests"]] == [
        ("2.1", "failed", 0.0, 5.0, "visible"),
        ("3.1", "passed", 5.0, 5.0, "visible"),
    ]
    assert data["tests"][0]["output"].endswith("Hint: Look at the length.")
    shown = Graded("a", report(step(check(status=Status.FAILED, printed="canary"))))
    assert "canary" not in FORMATS["gradescope"].write(shown, OPTIONS)


@pytest.mark.parametrize("format_", ["gradescope", "classroom50"])
def test_no_file_says_0_for_a_student_without_a_score(format_):
    assert each(format_, not_gradable()) is None


def test_prairielearn_results():
    data = each("prairielearn", wrong())
    assert (data["gradable"], data["score"]) == (True, 0.5)
    first = data["tests"][0]
    assert (first["points"], first["max_points"]) == (0.0, 5.0)
    assert "All 4 values are wrong." in first["message"]
    data = each("prairielearn", not_gradable())
    assert (data["gradable"], data["message"]) == (False, "the zip holds more than 200 files")
    note = "Excused (Tim, today): ill"
    assert each("prairielearn", graded_by_hand({}, note, score=None))["message"] == note
    assert each("prairielearn", Graded("a", report()))["score"] == 0.0


def test_classroom50_result_has_whole_points_that_keep_the_share():
    environment = {"CLASSROOM": "nlp", "ASSIGNMENT": "attention", "COMMIT_URL": "c"}
    data = each("classroom50", wrong(), Options(environment=environment, graded_at="then"))
    assert data["schema"] == "classroom50/result/v1"
    assert (data["classroom"], data["assignment"], data["commit"]) == ("nlp", "attention", "c")
    assert (data["owner"], data["graded_at"]) == ("bob", "then")
    assert (data["score"], data["max-score"]) == (5, 10)
    first = {"test-name": "step02_scores.scores_agree", "passed": False}
    assert data["tests"][0] == {**first, "score": 0, "max-score": 5}
    halves = Graded("a", report(step(check(points=0.5), check("b", Status.FAILED, points=1.0))))
    data = each("classroom50", halves)
    assert (data["score"], data["max-score"]) == (1, 3)
    assert [type(test["score"]) for test in data["tests"]] == [int, int]


@hostile
def test_json_and_xml_hold_any_name_and_message(name):
    bad = report(step(check(status=Status.FAILED, message=name)), student=name)
    one = Graded(name, bad, warnings=(name,))
    for format_ in ("gradescope", "prairielearn", "classroom50"):
        json.loads(FORMATS[format_].write(one, OPTIONS).encode("ascii"))
    text = whole("junit", [one, not_gradable(name, reason=name)])
    assert len(ElementTree.fromstring(text.encode("utf-8"))) == 2


# JUnit


def test_junit_suites_and_cases():
    root = ElementTree.fromstring(whole("junit"))
    assert [suite.get("name") for suite in root] == ["alice", "bob", "carol"]
    bob = root[1]
    assert (bob.get("tests"), bob.get("failures"), bob.get("errors")) == ("2", "1", "0")
    properties = {p.get("name"): p.get("value") for p in bob.find("properties")}
    assert properties["score"] == "5"
    assert properties["points.step03_mask"] == "5"
    assert root[2].get("errors") == "1"
    assert root[2].find("testcase/error").get("message") == "the zip holds more than 200 files"
    first = bob.find("testcase")
    assert (first.get("classname"), first.get("name")) == ("step02_scores", "scores_agree")
    assert "All 4 values are wrong." in first.find("failure").text


def test_junit_wrong_answers_fail_and_crashes_are_errors():
    wrong, crashed = (Status.FAILED, Status.NOT_ATTEMPTED), (Status.ERROR, Status.TIMEOUT)
    checks = [check(status=one) for one in (*wrong, *crashed, Status.MEMORY, Status.SKIPPED)]
    root = ElementTree.fromstring(whole("junit", [Graded("a", report(step(*checks)))]))
    found = [case[0].tag for case in root[0].iter("testcase")]
    assert found == ["failure"] * 2 + ["error"] * 3 + ["skipped"]


# the instructor's own files: Canvas

COLUMN = "Attention (4711)"
CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Other (1),Attention (4711),Final Score\r\n"
    "    Points Possible,,,,,10,10,(read only)\r\n"
    '"Liddell, Alice",101,u1,alice,"A ""1""",3,,70.0\r\n'
    "Bob,102,u2,bob,A,4,2,80.0\r\n"
    '"Dan",103,u3,dan,A,5,"9",\r\n'
)


def canvas(text=CANVAS, class_=CLASS):
    return filled("Canvas", text, class_, column=COLUMN, overwrite=True)


COMMAS = CANVAS.replace('"Liddell, Alice"', "Alice").replace(",", ";").replace("10;10", "10;3,0")
SCALED = "Scores are out of 10 here and out of 100 there: they were scaled."
UNKNOWN = "The file does not say what the assignment is worth: scores are out of 10."
# A table, and who is graded -> what is in it then, the notes, and who has no row.
FILLED = {
    "quotes": (CANVAS, [right("dan")], '5,"10",\r\n', [], []),
    "SIS": (CANVAS, [wrong("u2")], "A,4,5,80.0", [], []),
    "login": (CANVAS, [wrong("bob")], "A,4,5,80.0", [], []),
    "name": (CANVAS, [wrong("Bob")], "A,4,5,80.0", [], []),
    "two of one id": (CANVAS.replace("u3,dan", "bob,dan"), [wrong("bob")], "4,2,80.0", [], ["bob"]),
    "two for one row": (CANVAS, [right("bob"), wrong("u2")], "4,2,80.0", [], ["bob", "u2"]),
    "the points": (CANVAS, [wrong("    Points Possible")], ",10,10,(", [], None),
    "scaled": (CANVAS.replace(",10,10,(", ",10,100,("), [wrong("bob")], "4,50,80.0", [SCALED], []),
    "no points": (CANVAS.replace(",10,10,(", ",10,,("), [wrong("bob")], "4,5,80.0", [UNKNOWN], []),
    "commas": (COMMAS, [wrong("bob")], '4;"1,5";80.0', None, []),
    **{
        f"nobody: {name}": (CANVAS, [wrong(name)], "4,2,80.0", [], [name])
        for name in ("BOB", "bo", *HOSTILE.values())
    },
}


@pytest.mark.parametrize(("text", "class_", "held", "notes", "lost"), FILLED.values(), ids=FILLED)
def test_canvas_is_filled_in(text, class_, held, notes, lost):
    merged = canvas(text, class_)
    assert held in merged.text
    assert notes is None or merged.notes == notes
    assert lost is None or list(merged.unmatched) == lost
    assert (merged.text == text) is not bool(merged.written)


# Moodle

MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,"
    "Last modified (grade),Feedback comments\n"
    'Participant 11,"Liddell, Alice",alice@x.org,Submitted,,100.00,"Friday, 1 May",\n'
    "Participant 12,Bob,bob@x.org,Submitted,3.00,100.00,-,old\n"
)
GERMAN = (
    "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Feedback als Kommentar\n"
    'Teilnehmer/in11,Alice,alice@x.org,Abgegeben,,"100,00",-\n'
    'Teilnehmer/in12,Bob,bob@x.org,Abgegeben,"3,00","100,00",-\n'
)


def test_what_to_work_on_first_is_nothing_that_was_made_full_by_hand():
    for points, said in ((5.0, False), (4.5, True)):
        grade = Grade(points + 5, 10.0, steps={"step02_scores": points, "step03_mask": 5.0})
        bob = dataclasses.replace(wrong(), grade=grade)
        assert ("First to work on: Scaled scores." in describe(bob)) is said
        assert ("First to work on" in feedback(bob)) is said


BOB = (wrong("bob@x.org"),)


def moodle(text=MOODLE, class_=BOB, **options):
    return filled("Moodle", text, class_, overwrite=True, **options)


EXCUSE = dataclasses.replace(BOB[0], grade=Grade(None, 10.0, excused=True))
KEPT = MOODLE.replace("3.00,", "80.00,")
SAME = MOODLE.replace("3.00,", '"50,0",').replace("old", "")
# Moodle's table, who is graded -> the grade and comment then, how many scores are written, and
# what is named.
STAYS = {
    "another grade": (KEPT, BOB[0], ("80.00", "old"), 0, ["bob@x.org: 80.00 there, 50 here"]),
    "another comment": (
        *(MOODLE.replace("3.00,", "-,"), BOB[0], ("50", "old"), 1),
        ["bob@x.org: the feedback comment there"],
    ),
    "the same": (SAME, BOB[0], ("50", "Points: 5 of 10."), 1, []),
    "an excuse": (KEPT, EXCUSE, ("80.00", "old"), 0, ["bob@x.org: 80.00 there, none here"]),
    "an excuse only": (MOODLE.replace("3.00,", ",").replace("old", ""), EXCUSE, ("", "Exc"), 0, []),
    "no score": (KEPT, not_gradable("Bob"), ("80.00", "old"), 0, ["Bob: 80.00 there, none here"]),
}


@pytest.mark.parametrize(("text", "one", "cells", "written", "kept"), STAYS.values(), ids=STAYS)
def test_what_somebody_has_written_there_stays(text, one, cells, written, kept):
    merged = filled("Moodle", text, [one])
    bob = table(merged.text)[2]
    assert (bob[4], bob[7][: len(cells[1])]) == cells
    assert (merged.written, merged.kept) == (written, kept)
    assert filled("Moodle", merged.text, [one]).text == merged.text


FOUND = ("Participant 12", "Participant_12", "Bob", "bob@x.org", "Bob_12")
LOST = ("Alice_12_assignsubmission_file", "participant 12", "Submitted")


@pytest.mark.parametrize("name", [*FOUND, *LOST])
def test_moodle_finds_a_student_by_exact_means_only(name):
    merged = moodle(class_=[wrong(name)])
    assert list(merged.unmatched) == ([] if name in FOUND else [name])
    assert (merged.text == MOODLE) is (name not in FOUND)


def test_moodle_in_another_language_needs_the_names_of_its_columns():
    """Only numbers tell there who somebody is."""
    bob = wrong("Bob_12", who=Who("Moodle", "12", "Bob"))
    columns = {"column": "Bewertung", "feedback_column": "Feedback als Kommentar"}
    merged = moodle(GERMAN, [bob, *BOB], **columns)
    assert list(merged.unmatched) == ["bob@x.org"]
    assert merged.notes == ["Scores are out of 10 here and out of 100 there: they were scaled."]
    assert 'Abgegeben,50,"100,00"' in merged.text.replace('"50"', "50")
    assert "First to work on" in merged.text


def test_moodle_feedback_is_escaped_for_the_page_it_is_shown_on():
    one = step(unscaled(), title="<b>&'")
    assert "&lt;b&gt;&amp;'" in moodle(class_=[Graded("Bob", report(one))]).text


TWICE = CANVAS.replace("Other (1)", COLUMN)
# A platform, its table, the column -> why it is not filled in.
REFUSED = {
    "empty": ("Canvas", "", COLUMN, "not a table that Canvas exported"),
    "binary": ("Canvas", "%PDF-1.4\0\x01", COLUMN, "not a"),
    "no column": ("Canvas", CANVAS, "", "--column, .* 'Other \\(1\\)', 'Attention \\(4711\\)'"),
    "twice": ("Canvas", TWICE, COLUMN, "it has 2 columns"),
    "no points": ("Canvas", CANVAS.replace("    Points", ""), COLUMN, "no row `Points Possible`"),
    "short row": ("Canvas", CANVAS.replace("4,2,80.0", "4,2"), COLUMN, "row 4 has 7 cells and its"),
    "open quote": ("Canvas", CANVAS.replace(',"9"', ',"9'), COLUMN, "a quote in it"),
    "read only": ("Canvas", CANVAS.replace("10,10", "10,(read only)"), COLUMN, "Canvas computes"),
    "no grade": ("Moodle", "ID,Name,Note\nTeilnehmer/in1,A,5\n", "", "column with --column"),
    "two grades": ("Moodle", MOODLE.replace("Maximum Grade", "Grade"), "", "has 2 columns 'Grade'"),
}


@pytest.mark.parametrize(("platform", "text", "column", "why"), REFUSED.values(), ids=REFUSED)
def test_table_that_cannot_be_filled_in_is_refused(platform, text, column, why):
    with pytest.raises(CourseError, match=why) as found:
        filled(platform, text, CLASS, column=column, overwrite=True)
    assert "\n" not in str(found.value)


def test_merge_keeps_what_csv_allows():
    """Bare carriage returns, empty lines, cells over several lines, no end of the last line."""
    for end in ("\n", "\r\n", "\r"):
        text = CANVAS.replace("\r\n", end).replace('"A ""1"""', f'"A{end}1"') + end * 2
        assert canvas(text).text == text.replace("3,,70.0", "3,10,70.0").replace("4,2,", "4,5,")
    assert canvas(CANVAS.removesuffix("\r\n")).written == 2


def test_change_that_would_lose_a_row_is_refused():
    """A row whose only cell is empty is an empty line, which has no cells."""
    assert replace_cells("points\n1\n", {(1, 0): "2"}) == "points\n2\n"
    with pytest.raises(CourseError, match="not a CSV file"):
        replace_cells("points\n1\n", {(1, 0): ""})


def test_mail_tells_a_student_without_a_score_why():
    """The text was empty for students who are excused, or of whom a step could not be read."""
    notes = ("Excused (Tim, today): ill",)
    excuse = dataclasses.replace(BOB[0], grade=Grade(None, 10.0, notes=notes, excused=True))
    (row,) = csv.DictReader(io.StringIO(whole("mail", [excuse])))
    assert (row["score"], row["text"]) == ("", f"Excused. {notes[0]}")


@pytest.mark.parametrize("worth", [1.0, 7.5, 1000.0])
def test_classroom50_loses_no_point_of_a_scaled_score(worth):
    """A score has six decimals, which are few where the whole assignment is worth 1."""
    checks = [check(str(n), points=1.0) for n in range(117)]
    for earned in range(118):
        grade = Grade(round(earned * worth / 117, 6), worth)
        one = dataclasses.replace(Graded("a", report(step(*checks))), grade=grade)
        assert each("classroom50", one)["score"] == earned


def test_points_by_hand_without_work_are_exported():
    """A student of whom there is no work may have passed an oral exam."""
    one = dataclasses.replace(not_gradable("dora"), grade=Grade(9.0, 10.0, notes=("oral",)))
    data = each("classroom50", one)
    assert (data["score"], data["max-score"], data["tests"]) == (9, 10, [])
    suite = ElementTree.fromstring(whole("junit", [one]))[0]
    found = {each.get("name"): each.get("value") for each in suite.find("properties")}
    assert found == {"score": "9", "max_score": "10", "changes": "oral"}


def test_mail_gives_no_page_of_a_team_to_a_member_whose_own_folder_moodle_names_otherwise():
    class_ = [
        right("Team 1_7", who=Who("Moodle", "7", "Team 1")),
        right("Conor OBrien_4712", who=Who("Moodle", "4712", "Conor OBrien")),
    ]
    options = Options(answer=resolve(class_, (), {"Team 1": ["Conor O'Brien", "Ben Beck"]}))
    found = csv.DictReader(io.StringIO(whole("mail", class_, options)))
    assert [(one["name"], one["student_id"]) for one in found] == [
        ("Ben Beck", "Team 1_7"),
        ("Conor OBrien", "Conor OBrien_4712"),
    ]


def test_cell_of_changed_checks_is_short():
    before, after = (
        Graded("bob", report(step(*(check(f"c{n}", status) for n in range(70)))))
        for status in (Status.FAILED, Status.PASSED)
    )
    text = "".join(changes([Change("bob", before, after, "handed in again")]))
    cell = text.splitlines()[1].split(",")[-1]
    assert cell.startswith("c0: failed -> passed; ")
    assert cell.endswith("; and 67 more")


def test_deduction_is_never_minus_nothing():
    grade = Grade(5.0000001, 10.0, raw=5.0)
    (_, line) = nbgrader([dataclasses.replace(wrong(), grade=grade)], Options(due="2026-11-20"))
    assert line.startswith("nopeek,2026-11-20,")
    assert ",0,5," in line
