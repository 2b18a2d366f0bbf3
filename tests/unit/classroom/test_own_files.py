"""Instructors' own files, as Canvas and Moodle write and read them."""

import dataclasses

import pytest

from grader.classroom.exports.gradebooks import into_gradebook
from grader.classroom.exports.grades import Options
from grader.classroom.exports.returning import canvas_feedback, mail, moodle_feedback
from grader.classroom.people import resolve
from grader.classroom.tables import read_roster
from grader.report.records import Grade, Who
from tests.support.classes import filled, right, wrong

COLUMN = "Homework (77)"
CANVAS = f'Student,ID,Section,{COLUMN}\n    Points Possible,,,10.00\n"Abel, Anna",1201,A,{{}}\n'
MOODLE = (
    "Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
    "Participant 1201,Anna O'Abel,{},10.00,-,\n"
)


def scored(points, who, student="anna"):
    return dataclasses.replace(right(student), who=who, grade=Grade(points, 10.0))


def into_canvas(points, cell, text=CANVAS):
    class_ = [scored(points, Who("Canvas", "1201"))]
    return filled("Canvas", text.format(cell), class_, column=COLUMN)


def into_moodle(points, cell=""):
    class_ = [scored(points, Who("Moodle", "1201", "Anna OAbel"))]
    return filled("Moodle", MOODLE.format(cell), class_)


@pytest.mark.parametrize(
    ("points", "wanted"),
    [(5.625, "5.63"), (0.005, "0.01"), (1.005, "1.01"), (2.0, "2"), (0.0, "0"), (9.994, "9.99")],
)
def test_half_a_hundredth_is_rounded_up(points, wanted):
    assert f",{wanted},10.00" in into_moodle(points).text


def test_canvas_with_first_and_last_names_apart():
    text = CANVAS.replace("Student,", "LastName,FirstName,").replace("Possible,", "Possible,,")
    text = text.replace('"Abel, Anna"', "Abel,Anna")
    assert "Abel,Anna,1201,A,7\n" in into_canvas(7.0, "", text=text).text
    class_ = [dataclasses.replace(right("Anna Abel"), grade=Grade(7.0, 10.0))]
    merged = filled("Canvas", text.format(""), class_, column=COLUMN)
    assert "Abel,Anna,1201,A,7\n" in merged.text


@pytest.mark.parametrize(
    "text",
    [
        "LastName,FirstName,ID,Section\nAbel,Anna,1201,A\n",
        'Student,ID\n"Abel, Anna",1201\n"Student, Test",1999\n',
    ],
    ids=["first and last names apart", "test student"],
)
def test_canvas_class_list(tmp_path, text):
    (tmp_path / "gradebook.csv").write_text(text, encoding="utf-8")
    (person,) = read_roster(tmp_path / "gradebook.csv")
    assert (person.who.number, person.who.name) == ("1201", "Anna Abel")


def test_moodle_takes_no_grade_above_the_maximum():
    merged = into_moodle(11.5)
    assert ",10,10.00" in merged.text
    assert "Moodle skips scores above 10: 1 score written as that." in merged.notes


BLIND = {
    "English": ("Identifier,Status,Grade", "Participant {},Submitted for grading,", "Participant"),
    "Japanese": ("ID,状態,評点,最大評点,変更", "参加者{},評定,,10.00,はい", "参加者"),
    "German": ("ID,Status,Bewertung", "Teilnehmer/in{},Abgegeben,", "Teilnehmer/in"),
    "with numbers": ("ID,状態,評点,最大評点,変更", "参加者{0},評定 {0},,10.00,はい", "参加者"),
}


@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize(("head", "row", "word"), BLIND.values(), ids=BLIND)
def test_moodle_class_list_of_blind_marking_has_no_names(tmp_path, count, head, row, word):
    """There the status stands right before the grade."""
    text = "\n".join([head, *map(row.format, range(4710, 4710 + count)), ""])
    (tmp_path / "worksheet.csv").write_text(text, encoding="utf-8")
    found = read_roster(tmp_path / "worksheet.csv")
    assert [one.id for one in found] == [f"{word}_{number}" for number in range(4710, 4710 + count)]
    assert {one.who.name for one in found} <= {"", word}
    class_ = [scored(7.0, Who("Moodle", "4710", word))]
    answer = resolve(class_, found)
    assert answer.owners == {"anna": [0]}
    assert filled("Moodle", text, class_, answer, column=head.split(",")[2]).written == 1


TEAM = (
    "Identifier,Full name,Email address,Grade,Maximum grade\n"
    "Participant 1201,Anna Abel,a@x.org,,10\nParticipant 1202,Bo Beck,b@x.org,,10\n"
)


@pytest.fixture
def team(tmp_path):
    """A team's graded work, and the options of its course."""
    path = tmp_path / "worksheet.csv"
    path.write_text(TEAM, encoding="utf-8")
    files = ("Team 1_1202_assignsubmission_file",)
    who = Who("Moodle", "1202", "Team 1", files=files)
    graded = wrong("Team 1_1202", who=who)
    groups = {"Team 1": ["Anna Abel", "b@x.org"]}
    return graded, Options(answer=resolve([graded], read_roster(path), groups))


def test_every_member_of_a_team_gets_its_grade_page_and_mail(team):
    graded, options = team
    assert into_gradebook("Moodle", TEAM, [graded], options).text.count(",5,10\n") == 2
    assert [name for name, _ in moodle_feedback([graded], options)] == [
        "Anna Abel_1201_assignsubmission_file/feedback.html",
        "Bo Beck_1202_assignsubmission_file/feedback.html",
    ]
    _, anna, bo = mail([graded], options)
    assert anna.startswith("a@x.org,Anna Abel,Team 1_1202,5,10,feedback/team_1_1202")
    assert bo.startswith("b@x.org,Bo Beck,Team 1_1202,5,10,feedback/team_1_1202")


def test_wrong_team_gets_no_page_of_somebody_elses(team):
    graded, options = team
    options = Options(answer=resolve([graded], options.answer.directory.people))
    assert list(moodle_feedback([graded], options)) == []


@pytest.mark.parametrize("ending", ["step02_scores.py", "work.IPYNB", "all.zip", "notes.txt"])
def test_canvas_gets_feedback_under_a_name_that_fits_its_content(ending):
    """A text called `answers.pdf` would be a damaged document to its student."""
    files = ("a_1201_9000001_answers.pdf", f"a_1201_9000002_{ending}")
    graded = dataclasses.replace(right("a"), who=Who("Canvas", "1201", files=files))
    ((name, data),) = canvas_feedback([graded], Options())
    assert name == files[1]
    if name.endswith(".py"):
        compile(data, "feedback", "exec")
        assert data.startswith(b"# Points: 10 of 10.\n")


GROUPED = "Identifier,Full name,Email address,Status,Group,Grade,Maximum grade\n" + "".join(
    f"Participant {n},{name},{name}@x.org,Sent,{group},,10\n"
    for n, (name, group) in enumerate([("Ann", "cy"), ("Bo", "cy"), ("Cy", "ann"), ("Di", "")], 11)
)


def test_group_in_moodle_that_is_called_as_a_student_takes_no_grade():
    for student in ("cy", "ann", "Sent"):
        merged = filled("Moodle", GROUPED, [right(student)])
        assert (merged.written, list(merged.unmatched)) == (0, [student])
    assert filled("Moodle", GROUPED, [right("Cy"), right("Di@x.org")]).written == 2


def test_columns_that_say_who_somebody_is_may_be_shared():
    """An institution may show departments, before addresses."""
    text = "Identifier,Full name,Department,Email address,Status,Grade,Maximum grade\n"
    text += "".join(f"Participant {n},{n} N,Physics,{n}@x.org,Sent,,10\n" for n in (11, 12))
    assert filled("Moodle", text, [right("11@x.org")]).written == 1
