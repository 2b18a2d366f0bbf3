"""One assignment on nbgrader and on Gradescope: from the work to the number that each is given.

The same four students on both. Anna is on time and right. Ben is two days late, and half right
until he hands in again. Cy is as late, with an extension. Di is right, and her grade is changed by
hand. Steps 2 and 3 are worth 7 and 12.5 points; step 3 counts twice, and all is scaled to 20.
"""

import datetime
import json
import os
import subprocess
import sys
import zipfile
from zoneinfo import ZoneInfo

import pytest
from nbgrader.api import Gradebook

from grader.classroom.course import read_course
from grader.classroom.gradescope import CONFIG
from grader.classroom.overrides import HEADER
from grader.notebooks.nbgrader.lateness import find_penalty
from grader.report.records import Graded, Who
from grader.steps import registry
from tests.conftest import ROOT
from tests.support.commands import nopeek
from tests.support.courses import Course, filled_in
from tests.support.stubs import solution_text, stub_text

REGISTRY = registry.load()
STEPS = ("step02_scores", "step03_mask")
RIGHT = {step: solution_text(step) for step in STEPS}
HALF = {STEPS[0]: stub_text(STEPS[0]), STEPS[1]: RIGHT[STEPS[1]]}
COURSE = """
title = "Homework 2: masks"
name = "hw2"
steps = ["2", "3"]
points = 20
due = 2026-11-20T23:59:00
timezone = "Europe/Berlin"
{more}
[weights]
3 = 2
[late]
percent_per_day = 10
grace_minutes = 15
[extensions]
"{cy}" = 2026-11-26T23:59:00
"""
# 25 of 32 weighted points are step 3's.
BEN_AT_FIRST = 20 * 25 / 32 * 0.8
LATE = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
SCORES = {"Anna": 20, "Ben": 16, "Cy": 20, "Di": 18.5}


@pytest.fixture
def course(tmp_path):
    """A course on nbgrader with the assignment in it, as `make nbgrader COURSE=…` writes it."""
    text = COURSE.format(cy="cy", more='roster = "roster.csv"')
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    roster = "student_id,name\nanna,Anna Abel\nben,Ben\ncy,Cy\ndi,Di\ned,Ed\n"
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    course = Course(tmp_path, 7, "process")
    config = (course.folder / "nbgrader_config.py").read_text(encoding="utf-8")
    told = nopeek("nbgrader", tmp_path / "course.toml", "--out", course.folder)
    assert "nbgrader generate_assignment hw2" in told
    assert (course.folder / "nbgrader_config.py").read_text(encoding="utf-8") == config
    return course


@pytest.mark.long
def test_nbgrader(course):
    course.must("generate_assignment", "hw2")
    path = course.folder / "release" / "hw2" / "hw2.ipynb"
    released = json.loads(path.read_text(encoding="utf-8"))
    assert "k_transposed" not in json.dumps(released)
    whole = "\n".join(RIGHT.values())
    half = filled_in(released, RIGHT[STEPS[1]])
    books = dict.fromkeys(("anna", "cy", "di"), filled_in(released, whole)) | {"ben": half}
    times = {"anna": "2026-11-20 22:59:00 UTC"} | dict.fromkeys(
        ("ben", "cy"), "2026-11-22 11:00:00 UTC"
    )
    for student, notebook in books.items():
        folder = course.hand_in(student, "hw2", notebook).parent
        (folder / "timestamp.txt").write_text(times.get(student, "2026-11-20 08:00:00 UTC"))
    course.must("autograde", "hw2")
    assert course.exported()["hw2", "ben"] == pytest.approx(BEN_AT_FIRST)
    course.hand_in("ben", "hw2", books["anna"])
    course.must("autograde", "hw2", "--student", "ben", "--force")
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "nopeek") as book:
        grades = book.find_submission_notebook("hw2", "hw2", "di").grades
        one = next(grade for grade in grades if grade.name == "check_causal_mask")
        one.manual_score = one.auto_score - 1.5  # as the formgrader writes it
        book.db.commit()
        assert {student.id for student in book.students} == {"anna", "ben", "cy", "di", "ed"}
    course.must("autograde", "hw2", "--student", "di", "--force")
    found = {who.capitalize(): score for (_, who), score in course.exported().items()}
    assert {who: found[who] for who in SCORES} == pytest.approx(SCORES)
    course.must("generate_feedback", "hw2")
    assert "passed" in course.feedback("ben", "hw2")


def autograded(place, config, student, files, created):
    """The results.json of a container in which one student's upload was graded."""
    home = place / student
    for folder in ("source", "submission", "results"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "source" / CONFIG).write_bytes(config)
    for step, source in files.items():
        (home / "submission" / f"{step}.py").write_text(source, encoding="utf-8")
    user = {"email": f"{student}@x.org", "id": 1, "name": PEOPLE[student]}
    data = {"id": 7, "users": [user], "created_at": created, "previous_submissions": []}
    (home / "submission_metadata.json").write_text(json.dumps(data))
    done = subprocess.run(
        [sys.executable, "-m", "grader.classroom.gradescope", str(home)],
        cwd=ROOT,
        env={**os.environ, "NOPEEK_ISOLATION": "process"},
    )
    assert done.returncode == 0
    return json.loads((home / "results" / "results.json").read_text())


PEOPLE = {"anna": "Anna Äbel", "ben": "Ben Beck", "cy": "Cy Cole", "di": "Di Dunn"}


@pytest.mark.long
def test_gradescope(tmp_path):
    """Two uploads of the autograder: the second brings changes by hand, and all is run again."""
    text = COURSE.format(cy="cy@x.org", more='overrides = "overrides.csv"')
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")

    def built():
        where = ("--gradescope", tmp_path / "autograder.zip", "--course", tmp_path / "course.toml")
        nopeek("release", *where)
        with zipfile.ZipFile(tmp_path / "autograder.zip") as file:
            return file.read(CONFIG)

    on_time = "2026-11-20T23:59:00.123456+01:00"
    created = dict.fromkeys(PEOPLE, on_time) | dict.fromkeys(("ben", "cy"), LATE.isoformat())
    config = built()
    first = autograded(tmp_path, config, "ben", HALF, created["ben"])
    assert first["score"] == pytest.approx(BEN_AT_FIRST)
    change = f"{HEADER}\ndi@x.org,,18.5,,oral exam,Tim,2026-11-25\n"
    (tmp_path / "overrides.csv").write_text(change, encoding="utf-8")
    config = built()
    found = {who: autograded(tmp_path, config, who, RIGHT, created[who]) for who in PEOPLE}
    scores = {who.capitalize(): results["score"] for who, results in found.items()}
    assert scores == pytest.approx(SCORES)
    assert "Points set to 18.5 instead of 20 (Tim, 2026-11-25): oral exam" in found["di"]["output"]
    assert "20 % are taken off 20 points" in found["ben"]["output"]
    assert "Extended until 2026-11-26" in found["cy"]["output"]


def penalty(path, student, hours, cy="cy", class_=None):
    """What nbgrader takes off 20 points that came so many hours after the deadline."""
    (path / "course.toml").write_text(COURSE.format(cy=cy, more=""), encoding="utf-8")
    course = read_course(path / "course.toml", REGISTRY)
    when = datetime.datetime.fromisoformat(course.due) + datetime.timedelta(hours=hours)
    return find_penalty(course, student, 20, when, class_ or [Graded(student, None)])


@pytest.mark.parametrize(
    ("student", "hours", "share"),
    [("ben", 0.2, 0), ("ben", 0.3, 0.1), ("ben", 36, 0.2), ("ben", 999, 1), ("cy", 36, 0)],
)
def test_lateness_is_the_same_in_nbgrader(tmp_path, student, hours, share):
    assert penalty(tmp_path, student, hours) == pytest.approx(20 * share)


@pytest.mark.parametrize(
    ("called", "others", "is_late"),
    [("Cy Cole", [], False), ("c@x.org", [], False), ("Cy Cole", ["Cy Cole"], True)],
)
def test_extension_is_for_the_same_person_in_nbgrader(tmp_path, called, others, is_late):
    class_ = [Graded("s3", None, who=Who(name="Cy Cole", email="c@x.org"))]
    class_ += [Graded(f"other{n}", None, who=Who(name=name)) for n, name in enumerate(others)]
    assert bool(penalty(tmp_path, "s3", 36, called, class_)) is is_late


@pytest.mark.long
def test_deadline_that_is_moved_later_costs_nobody_points_in_nbgrader(course):
    course.must("generate_assignment", "hw2")
    path = course.folder / "release" / "hw2" / "hw2.ipynb"
    released = json.loads(path.read_text(encoding="utf-8"))
    folder = course.hand_in("anna", "hw2", filled_in(released, "\n".join(RIGHT.values()))).parent
    (folder / "timestamp.txt").write_text("2026-11-21 08:00:00 UTC")
    course.must("autograde", "hw2")
    assert course.exported()["hw2", "anna"] == pytest.approx(18)
    file = course.folder / "assignments" / "hw2.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("due = 2026-11-20", "due = 2026-11-22"), encoding="utf-8")
    course.must("autograde", "hw2", "--force")
    assert course.exported()["hw2", "anna"] == pytest.approx(20)
