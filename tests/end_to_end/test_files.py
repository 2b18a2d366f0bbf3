"""What the commands say about files: names, what is not read, what a class's grader refuses."""

import os
import subprocess
import sys
import zipfile
from functools import partial

import pytest

from tests.conftest import ROOT
from tests.support.commands import run_strictly
from tests.support.handed_in import FILE, packed, source, spread
from tests.support.stubs import solution_text, write_stubs

RIGHT = solution_text("step02_scores")


@pytest.fixture
def home(tmp_path):
    """A learner's folder with stubs in `exercises/`."""
    write_stubs(tmp_path / "exercises")
    return tmp_path


@pytest.fixture
def nopeek(home):
    """nopeek(arguments): runs `python -m grader` in the learner's folder."""
    return partial(run_strictly, cwd=home, env={"COLUMNS": "300"})


def test_check_of_one_step_that_passes_leads_to_the_next(nopeek, home):
    spread(home / "exercises", {"step02_scores.py": RIGHT})
    said = nopeek("check", "2").stdout
    assert "All of it passes. `python -m grader check` shows what comes next." in said
    assert "exam" not in said


def test_check_says_how_a_file_was_read(nopeek, tmp_path):
    spread(tmp_path / "work", {"step02_scores_final.py": RIGHT, "old.rar": "x"})
    said = nopeek("check", "2", "--submission", "work").stdout
    assert "All of it passes." in said
    assert " ".join(said.split()).endswith(
        "note: step02_scores_final.py is read as step02_scores.py. "
        "note: old.rar is not read: only zip archives are read: hand in a zip, or the files."
    )


@pytest.mark.parametrize("name", ["step02_scores copy.py", "scores.py", "done/Step2_scores.py"])
def test_check_asks_whether_a_misnamed_file_is_meant(nopeek, home, name):
    (home / "exercises" / FILE).unlink()
    spread(home / "exercises", {name: RIGHT})
    done = nopeek("check", "2")
    assert f"Next: rename exercises/{name}. Did you mean {FILE}?" in done.stdout
    assert "reset" not in done.stdout


def test_check_offers_the_stub_where_nothing_is_meant(nopeek, home):
    (home / "exercises" / FILE).unlink()
    spread(home / "exercises", {"helpers.py": "x = 1\n", "old.py": "from math import sqrt\n"})
    assert "reset 2` writes the stub again." in nopeek("check", "2").stdout


def test_reader_that_has_seen_enough_makes_no_error(home):
    command = [sys.executable, "-m", "grader", "help", "--all"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=home, env=env, **pipes) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


def test_nothing_but_stubs_is_not_handed_in(nopeek, home):
    done = nopeek("handin")
    assert (done.returncode, (home / "handin.zip").exists()) == (2, False)
    assert "nothing is handed in: exercises" in done.stderr
    assert "holds nothing but stubs\n" in done.stderr


def test_stubs_and_a_misnamed_file_are_not_handed_in(nopeek, home):
    spread(home / "exercises", {"my_scores.py": RIGHT})
    assert f"stubs, and my_scores.py. Did you mean {FILE}? Rename it" in nopeek("handin").stderr


def test_handin_holds_packages_and_says_what_a_class_refuses(nopeek, home):
    mine = {
        FILE: f"from lib.ops import seen\n{RIGHT}\nseen()\n",
        "lib/ops.py": "import os\ndef seen():\n    return os.path.exists('x')\n",
        "types.py": "x = 1\n",
    }
    spread(home / "exercises", mine)
    said = nopeek("handin").stdout
    assert "refused where a class is graded: lib/ops.py uses a file (line 3)\n" in said
    with zipfile.ZipFile(home / "handin.zip") as zipped:
        held = {name: zipped.read(name).decode() for name in zipped.namelist()}
    assert {name: held[name] for name in mine} == mine
    again = nopeek("check", "2", "--submission", "handin.zip").stdout
    assert "All of it passes." in again
    assert again.endswith("refused where a class is graded: lib/ops.py uses a file (line 3)\n")


@pytest.fixture
def graded(nopeek, home):
    """graded(): what is printed about a class, and the status."""

    def graded():
        arguments = ("--step", "2", "--isolation", "process", "--suite", "visible", "--jobs", "1")
        done = nopeek("grade", "class", *arguments)
        return done.stdout, done.returncode

    return graded


def test_grade_ends_with_what_was_not_graded_or_read(graded, home):
    other = RIGHT.replace("np.sqrt", "np.sqrt ")
    spread(home / "class", {f"ada/{FILE}": RIGHT, f"bo/{FILE}": RIGHT, f"bo/old/{FILE}": other})
    spread(home / "class", {"bo/step04_softmax.py": "x = 1\n"})
    spread(home / "class", {f"cy/{FILE}": RIGHT, "cy/more.rar": "x", "step02.py": source()})
    spread(home / "class", {"notes.txt": "x"})
    said, status = graded()
    assert status == 1
    assert "\n2 graded, 1 not gradable.\n" in said
    *_, bo, cy, loose, notes = said.strip().split("\n")
    if notes.startswith("ignored: step02"):
        loose, notes = notes, loose
    assert bo.startswith("not gradable: bo: Scaled scores could not be graded, so there is no")
    assert f"{FILE} could be any of {FILE}, old/{FILE}: keep one of them." in bo
    assert cy == "not read: cy: more.rar"
    assert loose == "ignored: step02.py: a source file must be in a folder with the student's name"
    assert notes == "ignored: notes.txt: it is neither a folder nor a zip nor a notebook"
    again, status = graded()
    assert (status, "0 graded, 2 known from before, 1 not gradable." in again) == (1, True)
    page = (home / "graded" / "index.html").read_text(encoding="utf-8")
    assert "step02.py" in page


def test_parts_in_zips_and_folders_are_one_hand_in(graded, home):
    (home / "class").mkdir()
    packed(home / "class" / "ada.zip", {"work/helpers.py": "x = 1\n"})
    spread(home / "class" / "ada", {"scores.py": RIGHT})
    said, status = graded()
    assert "1 graded.\n" in said
    assert status == 1, said  # the module is not beside the step
