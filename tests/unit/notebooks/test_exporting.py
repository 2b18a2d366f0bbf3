"""The table of `nbgrader export`."""

import csv
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from grader.notebooks.nbgrader.exporting import Export

# Of nbgrader's own code, which the fixture calls.
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")

STEPS = ("step02_scores", "step03_mask")
FORGED = ("eve,,,,7.0,0.0,7.0,7.0", 'ann",,,"', "=1+1,2")


@pytest.fixture
def book(tmp_path, monkeypatch):
    beside = str(Path(sys.executable).parent)  # where nbgrader finds alembic
    monkeypatch.setenv("PATH", os.pathsep.join([beside, os.environ["PATH"]]))
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        for step in STEPS:
            book.add_assignment(step, duedate="2026-11-01 10:00:00 UTC")
            book.add_notebook("hw", step)
            book.add_grade_cell("test", "hw", step, max_score=7, cell_type="code")
        yield book


def enrol(book, student, points=None, **who):
    """A student who has handed in the first step for so many points."""
    book.add_student(student, **who)
    if points is not None:
        book.add_submission(STEPS[0], student, timestamp="2026-11-02 10:00:00 UTC")
        book.find_grade("test", "hw", STEPS[0], student).auto_score = points
        book.find_submission_notebook("hw", STEPS[0], student).late_submission_penalty = 0.5
        book.db.commit()


def exported(plugin, book, path, **more):
    plugin(to=str(path), **more).export(book)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table_is_nbgraders_own_for_usual_ids(book, tmp_path):
    enrol(book, "ada", 6.25, first_name="Ada", last_name="Lovelace", email="ada@example.org")
    enrol(book, "ben", 0.25)
    enrol(book, "cy")
    rows = exported(Export, book, tmp_path / "ours.csv")
    assert rows == exported(CsvExportPlugin, book, tmp_path / "theirs.csv")
    scores = {row["student_id"]: row["score"] for row in rows if row["assignment"] == STEPS[0]}
    assert scores == {"ada": "5.75", "ben": "0.0", "cy": "0.0"}


def test_students_and_assignments_can_be_chosen(book, tmp_path):
    for student in ("ada", "ben"):
        enrol(book, student, 1.0)
    rows = exported(Export, book, tmp_path / "g.csv", student=["ben"], assignment=[STEPS[1]])
    assert [(row["student_id"], row["assignment"]) for row in rows] == [("ben", STEPS[1])]


@pytest.mark.parametrize("name", FORGED)
def test_id_stays_one_cell_and_no_formula(book, tmp_path, name):
    enrol(book, name, 0.0)
    enrol(book, "eve", 1.0)
    rows = exported(Export, book, tmp_path / "g.csv", assignment=[STEPS[0]])
    assert {row["student_id"].removeprefix("'"): row["score"] for row in rows} == {
        name: "0.0",
        "eve": "0.5",
    }
    assert not any(row["student_id"].startswith("=") for row in rows)
    assert None not in rows[0]
