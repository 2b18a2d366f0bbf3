"""Where in a hand-in the step files may lie, and which of several counts."""

import json
import re

import pytest

from grader.intake import entries as intake
from grader.intake.folders import SubmissionError
from tests.conftest import ROOT
from tests.support.handed_in import FILE, notebook, packed, source, spread, write


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.entries(tmp_path, steps)}
        return intake.read(entries[student], steps)

    return read


# Where the files lie.


PLACES = {
    "top": [FILE],
    "exercises": [f"exercises/{FILE}"],
    "one folder": [f"my work/{FILE}"],
    "a clone": [f"kit-main/{name}/{FILE}" for name in ("exercises", "solutions", "tests")],
    "folder in a folder": [f"a/b/{FILE}"],
    "beside other folders": [f"code/{FILE}", "docs/notes.txt", ".git/x.py", "__MACOSX/._x"],
    "notebook": ["notebooks/step02_scores.ipynb"],
    "copies below the top": [FILE, f"old/{FILE}", f"backup/{FILE}"],
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("paths", PLACES.values(), ids=PLACES.keys())
def test_files_are_found(read, tmp_path, paths, kind):
    make = packed if kind == "zip" else spread
    files = {path: notebook() if path.endswith("ipynb") else source() for path in paths}
    files = {path: text if "solutions" not in path else "stolen" for path, text in files.items()}
    make(tmp_path / ("alice.zip" if kind == "zip" else "alice"), files)
    assert "return 0" in read("alice").sources["step02_scores"]


def test_nothing_is_taken_from_beside_the_exercises(read, tmp_path):
    other = "step03_mask.py"
    spread(tmp_path / "alice", {f"exercises/{FILE}": source(), f"solutions/{other}": "x = 1\n"})
    assert list(read("alice").sources) == ["step02_scores"]


def test_zip_in_a_students_folder_is_read(read, tmp_path):
    write(tmp_path / "Ann_1_assignsubmission_file_" / "work.zip")
    assert read("Ann_1").sources == {"step02_scores": source()}


def test_loose_files_are_one_submission(read, tmp_path):
    for number, name in enumerate(("step01_projections.py", "step02_scores-1.py")):
        (tmp_path / f"doejohn_12345_67890{number}_{name}").write_text(source(number))
    assert read("doejohn_12345").sources == {
        "step01_projections": source("0"),
        "step02_scores": source("1"),
    }


def test_missing_steps_are_just_not_there(read, tmp_path):
    write(tmp_path / "alice")
    submission = read("alice")
    assert (list(submission.sources), dict(submission.refused)) == (["step02_scores"], {})


def test_own_path_is_an_entry(steps, tmp_path):
    for name in ("alice", "bob.zip", "carol.ipynb"):
        write(tmp_path / name)
        submission = intake.read(intake.alone(tmp_path / name), steps)
        assert (submission.id, list(submission.sources)) == (name.split(".")[0], ["step02_scores"])


# A mix of files and notebooks.

STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"


def test_file_goes_before_a_notebook(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source("'file'"), "work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'file'" in submission.sources["step02_scores"]
    assert "taken from step02_scores.py; it is also in work.ipynb" in submission.warnings[0]


@pytest.mark.parametrize("folder", ["", "exercises/"])
def test_untouched_file_gives_way_to_a_notebook(read, tmp_path, folder):
    other = "notebooks/" if folder else ""
    spread(tmp_path / "alice", {folder + FILE: STUB, f"{other}work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert "taken from work.ipynb; it is also in step02_scores.py" in submission.warnings[0]


def test_unreadable_file_gives_way_to_a_notebook_and_is_told(read, tmp_path):
    spread(tmp_path / "alice", {"work.ipynb": notebook("'cell'")})
    (tmp_path / "alice" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert f"{FILE} cannot be read: it is not UTF-8 text." in submission.warnings
    assert dict(submission.refused) == {}


def test_copy_of_a_notebook_goes_after_it(read, tmp_path):
    files = {"work-Copy1.ipynb": notebook("'copy'"), "work.ipynb": notebook("'cell'")}
    spread(tmp_path / "alice", files)
    assert "'cell'" in read("alice").sources["step02_scores"]


def test_notebook_of_the_steps_name_goes_first(read, tmp_path):
    files = {"a.ipynb": notebook("'other'"), "step02_scores.ipynb": notebook("'named'")}
    spread(tmp_path / "alice", files)
    assert "'named'" in read("alice").sources["step02_scores"]


def test_broken_notebook_costs_its_step_only(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "step03_mask.ipynb": "{"})
    submission = read("alice")
    assert list(submission.sources) == ["step02_scores"]
    sentence = "step03_mask.ipynb cannot be read: its JSON is broken in line 1."
    assert dict(submission.refused) == {"step03_mask": sentence}
    assert submission.warnings == (sentence,)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("step02_scores.ipynb", b"{", "its JSON is broken in line 1"),
        (FILE, b"# caf\xe9", "it is not UTF-8 text"),
    ],
)
def test_work_of_which_nothing_can_be_read_is_not_gradable(read, tmp_path, name, data, reason):
    """A zero would say that it is wrong."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / name).write_bytes(data)
    with pytest.raises(SubmissionError, match=f"^{re.escape(name)} cannot be read: {reason}$"):
        read("alice")


NEARLY = ["Step02_Scores.py", "step02_scores (1).py", "step02_scores.py.txt", "step02_scores-1.py"]


@pytest.mark.parametrize("name", NEARLY)
def test_nearly_right_name_is_told(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    submission = read("alice")
    assert list(submission.sources) == ["step03_mask"]
    assert submission.warnings == (f"{name} is ignored: no step file has that name.",)


def test_solutions_can_be_handed_in_every_way(grade, steps, tmp_path):
    files = {
        step.filename: (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        for step in steps.steps[:2]
    }
    spread(tmp_path / "folder", files)
    packed(tmp_path / "zip.zip", {f"top/{name}": text for name, text in files.items()})
    cells = [
        {"cell_type": "code", "metadata": {}, "source": "# %%" + cell}
        for text in files.values()
        for cell in text.split("# %%")[1:]
    ]
    (tmp_path / "cells.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    reports = [
        grade(intake.read(entry, steps), only=steps.steps[:2])
        for entry in intake.entries(tmp_path, steps)
    ]
    assert [report.submission for report in reports] == ["cells", "folder", "zip"]
    assert [report.passed for report in reports] == [True] * 3
