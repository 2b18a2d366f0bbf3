"""Test how a run of grading counts, with a stand-in for the judges."""

import shutil
from concurrent.futures import Executor, Future

import pytest
from click.testing import CliRunner

from grader.classroom import hidden_inputs
from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam, Outcome
from grader.classroom.overrides import HEADER
from grader.classroom.run import GradingRun
from grader.cli.kit.grade import _template
from grader.cli.main import cli
from grader.intake import entries
from tests.support.classes import right
from tests.support.disks import little_room
from tests.support.handed_in import write

EXAM = Exam("visible", 0, "process", ("step02_scores",), "a kit")

ISOLATED = ("--isolation", "process", "--suite", "visible")


def grade(folder, out, *more):
    """Grade a class, by default step 2; return the status and what is said."""
    step = () if "--course" in more else ("--step", "2")
    words = ("grade", *ISOLATED, *step, str(folder), "--out", str(out), *map(str, more))
    done = CliRunner().invoke(cli, words)
    return done.exit_code, done.output


def students_in(out, file="grades.csv"):
    """Return whom the rows of a table are about."""
    rows = (out / file).read_text(encoding="utf-8").splitlines()[1:]
    return [row.partition(",")[0] for row in rows]


def change(path, student, points):
    """Write the file of changes by hand."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{HEADER}\n{student},,{points},,oral exam,Tim,today\n", encoding="utf-8")


class Noting(Executor):
    """In place of judges: note each exam, and say that everybody is right."""

    def __init__(self):
        self.exams = []

    def submit(self, function, exam, submission):
        self.exams.append(exam)
        answer = Future()
        answer.set_result(Outcome(right().report.to_json().encode(), "", 0.5))
        return answer


SECRET = bytes(range(32))
KEYS = {number: hidden_inputs.derive_key(SECRET, number) for number in (1, 2)}


def rounds_of(book, folder, kit="a kit"):
    """Grade the class as `grade` does, and return the rounds of what is judged."""
    exam = Exam("hidden", book.next_round(1), "process", EXAM.steps, kit)
    judges = Noting()
    GradingRun(book, exam, secret=SECRET).grade(entries.list_class(folder).entries, judges, 1)
    assert all(one.key == KEYS[one.seed] for one in judges.exams)
    return sorted(one.seed for one in judges.exams)


def test_changed_work_enters_the_next_round_and_all_other_work_keeps_its_own(tmp_path):
    for name in ("anna", "ben", "cy"):
        write(tmp_path / "class" / name, name)
    (tmp_path / "out").mkdir()
    with Gradebook(tmp_path / "out", write=True) as book:
        assert rounds_of(book, tmp_path / "class") == [1, 1, 1]
        assert rounds_of(book, tmp_path / "class") == []
        write(tmp_path / "class" / "anna", "other")
        write(tmp_path / "class" / "di", "di")
        assert rounds_of(book, tmp_path / "class") == [2, 2]
        assert rounds_of(book, tmp_path / "class", "a newer kit") == [1, 1, 2, 2]
        write(tmp_path / "class" / "anna", "anna")
        assert rounds_of(book, tmp_path / "class", "a newer kit") == [1]


def test_change_by_hand_while_a_class_is_graded_is_on_its_pages(tmp_path, monkeypatch):
    """The run takes hours, and its pages and table are written at its end."""
    write(tmp_path / "class" / "anna")
    out, judged = tmp_path / "out", GradingRun.grade

    def changed_meanwhile(self, *arguments):
        change(out / "overrides.csv", "anna", 3)
        return judged(self, *arguments)

    monkeypatch.setattr(GradingRun, "grade", changed_meanwhile)
    assert grade(tmp_path / "class", out)[0] == 0
    assert "anna,3," in (out / "grades.csv").read_text(encoding="utf-8")


def test_full_disk_leaves_no_empty_file_for_changes(tmp_path):
    """Without its header, it would stop every later run and export."""
    path = tmp_path / "overrides.csv"
    with little_room(10), pytest.raises(OSError, match="too large"):
        _template(path)
    assert not any(tmp_path.iterdir())
    _template(path)
    assert path.read_text(encoding="utf-8") == f"{HEADER}\n"


def test_change_by_hand_of_a_student_who_took_another_name_is_told(tmp_path):
    """A new display name makes another student's id, to which the change does not belong."""
    folder, out = tmp_path / "class", tmp_path / "out"
    mark = "_4711_assignsubmission_file"
    write(folder / f"Anna Abel{mark}")
    change(out / "overrides.csv", "Anna Abel_4711", 3)
    grade(folder, out)
    (folder / f"Anna Abel{mark}").rename(folder / f"Anna Bell{mark}")
    _, said = grade(folder, out)
    assert "overrides, row 2: there is no work of Anna Abel_4711; it changes nothing." in said
    assert students_in(out) == students_in(out, "changes.csv") == ["Anna Bell_4711"]
    assert "a change by hand was taken back" in (out / "changes.csv").read_text(encoding="utf-8")


MOODLE_LIST = """Identifier,Full name,Email address,Grade
Participant 4711,Anna Abel,a@x.org,
Participant 4712,Ben Beck,b@x.org,
Participant 4713,{},c@x.org,
"""
CANVAS_LIST = """Student,ID,SIS User ID,SIS Login ID,Section,HW (77)
"Abel, Anna",4711,,,S1,
"Beck, Ben",4712,,,S1,
{},4713,,,S1,
"""
NAMES = {
    "Moodle, another's folder": (
        MOODLE_LIST,
        "{}_{}_assignsubmission_file",
        "Anna Abel_4711_assignsubmission_file",
    ),
    "Moodle, the class's folder": (MOODLE_LIST, "class/{}_{}_assignsubmission_file", "class"),
    "Canvas, the class's folder": (CANVAS_LIST, "class/{}_{}_9000001_hw.zip", "class"),
}


@pytest.mark.parametrize(("people", "entry", "called"), NAMES.values(), ids=NAMES)
def test_display_name_on_a_platforms_list_takes_nobodys_work(tmp_path, people, entry, called):
    (tmp_path / "roster.csv").write_text(people.format(called))
    for number, name in enumerate(("Anna Abel", "Ben Beck", called), 4711):
        write(tmp_path / "all" / entry.format(name.replace("_", " "), number))
    more = ("--roster", tmp_path / "roster.csv")
    assert "3 graded." in grade(tmp_path / "all", tmp_path / "out", *more)[1]


ANNA = "student_id,name,email,number\nanna,Anna Zoë,a@x.org,1201\n"
TEAM = '[groups]\nteam1 = ["{}", "ben"]\n'
# The class list, who was there first and who is there then, a team, and the points.
SAME = {
    "another name on the list": (ANNA, ["anna"], "Anna Zoë", "", 3.0),
    "accents in another form": (ANNA, ["Anna Zoe\u0308"], "Anna Zoë", "", 3.0),
    "Canvas": (ANNA, ["a@x.org"], "zoeanna_1201_9000001_step02_scores.py", "", 3.0),
    "a team": (f"{ANNA}ben,Ben,,\n", ["anna", "ben"], "team1", TEAM.format("Anna Zoë"), 0.0),
    "a team, without a list": ("", ["anna", "ben"], "team1", TEAM.format("anna"), 0.0),
}


@pytest.mark.parametrize(("people", "first", "then", "team", "points"), SAME.values(), ids=SAME)
def test_student_who_is_here_under_another_name_is_not_gone(
    tmp_path, people, first, then, team, points
):
    """Else the extension is for two, so for nobody, and a mail says that the work is missing."""
    folder, out, course = tmp_path / "class", tmp_path / "out", tmp_path / "course.toml"
    (tmp_path / "roster.csv").write_text(people, encoding="utf-8")
    rules = 'title = "x"\nsteps = ["2"]\ndue = 2026-11-20T12:00:00Z\n'
    rules += 'roster = "roster.csv"\n' if people else ""
    rules += "[extensions]\nanna = 2026-11-24T12:00:00Z\n"
    course.write_text(rules)
    for name in first:
        write(folder / name)
    grade(folder, out, "--course", course)
    change(out / "overrides.csv", "anna", 3)
    shutil.rmtree(folder)
    write(folder / then)
    course.write_text(rules + team, encoding="utf-8")
    _, said = grade(folder, out, "--course", course)
    assert "missing" not in said
    assert "2 people are called" not in said
    assert list(points_in(out).values()) == [points]


def export(out):
    """Export a class; return the status, what is said, and the points of everybody."""
    made = out.parent / "exported.csv"
    words = ["export", str(out), "--format", "csv", "--out", str(made)]
    done = CliRunner().invoke(cli, words)
    rows = made.read_text(encoding="utf-8").splitlines()[1:] if done.exit_code == 0 else []
    points = {row.split(",")[0]: float(row.split(",")[1]) for row in rows}
    return done.exit_code, done.output, points


def points_in(out):
    return export(out)[2]


def test_change_by_hand_moves_with_the_results(tmp_path):
    """Where it was when the class was graded, there may be another class now."""
    out, moved, copied = tmp_path / "out", tmp_path / "moved", tmp_path / "copied"
    write(tmp_path / "class" / "anna")
    grade(tmp_path / "class", out)
    change(out / "overrides.csv", "anna", 3)
    assert points_in(out) == {"anna": 3.0}
    out.rename(moved)
    assert points_in(moved) == {"anna": 3.0}
    shutil.copytree(moved, copied)
    for place, points in ((out, 1), (moved, 2)):
        change(place / "overrides.csv", "anna", points)
    assert points_in(copied) == {"anna": 3.0}


def test_change_by_hand_moves_with_the_assignment_file(tmp_path):
    home, there = tmp_path / "2026", tmp_path / "2027"
    write(home / "class" / "anna")
    (home / "course.toml").write_text('title = "x"\nsteps = ["2"]\noverrides = "o.csv"\n')
    change(home / "o.csv", "anna", 3)
    grade(home / "class", home / "out", "--course", home / "course.toml")
    assert points_in(home / "out") == {"anna": 3.0}
    shutil.copytree(home, there)
    change(home / "o.csv", "anna", 1)
    assert points_in(there / "out") == {"anna": 3.0}
    (there / "out").rename(tmp_path / "alone")
    status, said, _ = export(tmp_path / "alone")
    assert status == 2
    assert "which is gone: grade again, with the assignment file" in said


def test_another_assignment_is_not_graded_into_the_same_folder(tmp_path):
    """The changes by hand of the first one would count for the second, where names are the same."""
    write(tmp_path / "class" / "anna")
    for title in ("one", "two"):
        (tmp_path / f"{title}.toml").write_text(f'title = "{title}"\nsteps = ["2"]\n')

    def graded(title, *more):
        course = ("--course", tmp_path / f"{title}.toml")
        return grade(tmp_path / "class", tmp_path / "out", *course, *more)

    assert [graded("one")[0], graded("one")[0]] == [0, 0]
    status, told = graded("two")
    assert status == 2
    assert "holds the grades of another assignment ('one', steps 2): name another folder" in told
    assert graded("two", "--other-steps")[0] == 0


def test_exam_does_not_show_its_key():
    """A worker of a cluster writes the arguments of a failed task into its log."""
    exam = Exam("hidden", 1, "process", EXAM.steps, "a kit", KEYS[1])
    assert KEYS[1] not in f"{exam} {exam!r}"
