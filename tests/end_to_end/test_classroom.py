"""Grading a class through the real command: resumed after every kill, the same in any order."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from grader.classroom.gradebook import NAME, Gradebook
from tests.conftest import ROOT
from tests.support import forks, processes
from tests.support.clusters import results_kept
from tests.support.stubs import stub_text

STEP = "step02_scores"
FINISHED = (ROOT / "solutions" / f"{STEP}.py").read_text(encoding="utf-8")
STUB = stub_text(STEP)
UNSCALED = (
    "import numpy as np\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
)
EXITS = "import os\ndef attention_scores(q, k):\n    os._exit(0)\n"
GRADE = [sys.executable, "-m", "grader", "grade", "--isolation", "process", "--suite", "visible"]
ONE_STEP = ["--step", "2"]


def made(folder, students):
    """A class: student -> source of step 2; None for a student who handed in nothing."""
    for name, text in students.items():
        (folder / name).mkdir(parents=True)
        if text is not None:
            (folder / name / f"{STEP}.py").write_text(text, encoding="utf-8")
    return folder


CLASS = {
    **{f"right {i}": f"{FINISHED}\n# {i}\n" for i in range(4)},
    **{f"unscaled {i}": f"{UNSCALED}\n# {i}\n" for i in range(4)},
    **{f"exits {i}": f"{EXITS}\n# {i}\n" for i in range(2)},
    "copy of right 0": f"{FINISHED}\n# 0\n",
    "stub": STUB,
    "empty": None,
}


def command(folder, out, *more):
    return [*GRADE, str(folder), "--out", str(out), *ONE_STEP, *more]


def run(*arguments, status=0):
    _, _, module, *words = command(*arguments)
    done = forks.run(module, *words, cwd=ROOT, stderr=subprocess.PIPE)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def results(out):
    """Everything that a gradebook says of the last run, but for how long it took."""
    with Gradebook(out) as book:
        return [
            (g.student, g.report and json.dumps(g.report.to_dict()), g.reason, g.warnings)
            for g in book.graded()
        ]


def scores(out):
    with Gradebook(out) as book:
        return {g.student: g.report and g.report.score / g.report.max_score for g in book.graded()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class, and where an undisturbed run has graded it."""
    folder = made(tmp_path_factory.mktemp("class"), CLASS)
    out = tmp_path_factory.mktemp("undisturbed")
    run(folder, out, "--jobs", "2", status=1)
    return folder, out


SHOWS_WHAT_IT_READS = """
import sys

def attention_scores(q, k):
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    text, _ = frame.f_locals["self"].sources.modules["step01_projections"]
    print(text[text.index("def project_qkv"):].partition("return ")[2][:60])
"""


def test_visible_checks_come_with_a_warning(tmp_path):
    """Whoever grades with them is told what their pages can show, for they do show it."""
    folder = made(tmp_path / "class", {"mallory": SHOWS_WHAT_IT_READS})
    told = run(folder, tmp_path / "out")
    assert "note: visible checks show what a submission returns and prints" in told
    assert "a program that looks them up passes" in told
    page = (tmp_path / "out" / "feedback" / "mallory.html").read_text(encoding="utf-8")
    assert "linear(x, w_q), linear(x, w_k)" in page


def test_everybody_gets_what_they_earned(graded):
    found = scores(graded[1])
    assert found.pop("empty") is None
    for name, share in found.items():
        if "right" in name:
            assert share == 1.0, name
        else:
            assert share < 0.5, name
    assert found["stub"] == 0.0


@pytest.mark.long
def test_same_grades_with_one_judge_as_with_two(graded, tmp_path):
    run(graded[0], tmp_path, "--jobs", "1", status=1)
    assert results(tmp_path) == results(graded[1])


def test_second_run_grades_nothing(graded):
    before = results(graded[1])
    said = run(*graded, status=1)
    assert "0 graded, 12 known from before, 1 not gradable." in said
    assert results(graded[1]) == before


def test_same_work_is_graded_once(graded):
    db = sqlite3.connect(graded[1] / NAME)
    assert db.execute("select count(*) from result").fetchone() == (11,)
    db.close()


@pytest.mark.long
def test_killed_again_and_again_it_ends_with_the_same_grades(graded, tmp_path):
    """Killed at random moments: before the first result, between two, while one is written."""
    moments = random.Random(5)
    kept = [0]
    while len(kept) < 12:
        process = subprocess.Popen(
            command(graded[0], tmp_path, "--jobs", "2"),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        goal = kept[-1] + moments.choice([0, 0, 1, 1])
        while process.poll() is None and results_kept(tmp_path) < goal:
            time.sleep(0.005)
        time.sleep(moments.random() * 0.1)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kept.append(results_kept(tmp_path))
    assert kept == sorted(kept)
    assert len(kept) > 5, "it was seldom killed: give the class more students"
    run(graded[0], tmp_path, status=1)
    assert results(tmp_path) == results(graded[1])


def test_judges_of_a_killed_run_end_too(graded, tmp_path):
    process = subprocess.Popen(
        command(graded[0], tmp_path, "--jobs", "2"), cwd=ROOT, stdout=subprocess.DEVNULL
    )
    while results_kept(tmp_path) < 1:
        time.sleep(0.01)
    judges = processes.children(process.pid)
    assert judges
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert processes.soon(lambda: all(map(processes.gone, judges)))


def test_interrupted_run_says_how_to_go_on(graded, tmp_path):
    process = subprocess.Popen(
        command(graded[0], tmp_path),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=processes.interruptible,
    )
    while results_kept(tmp_path) < 1:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == (
        "nopeek: stopped; graded work is kept: the same command continues\n"
    )
    assert process.returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("isolation", ["process", "bubblewrap"])
def test_run_leaves_no_temporary_files(graded, tmp_path, isolation):
    places = tmp_path / "tmp", tmp_path / "out"
    places[0].mkdir()
    done = subprocess.run(
        command(graded[0], places[1], "--jobs", "2", "--isolation", isolation),
        env={**os.environ, "TMPDIR": str(places[0])},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1, done.stderr
    assert list(places[0].iterdir()) == []


@pytest.mark.long
def test_handing_in_again_is_told(tmp_path):
    folder = made(tmp_path / "class", {"alice": UNSCALED, "bob": FINISHED})
    run(folder, tmp_path / "out")
    (folder / "alice" / f"{STEP}.py").write_text(f"{FINISHED}\n# alice\n", encoding="utf-8")
    said = run(folder, tmp_path / "out")
    assert "1 graded, 1 known from before." in said
    assert "alice: 0 -> 7 (handed in again)" in said
    assert "bob" not in said


def test_class_folder_that_is_empty_is_told(tmp_path):
    (tmp_path / "class").mkdir()
    done = subprocess.run(
        command(tmp_path / "class", tmp_path / "out"), capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (
        2,
        f"nopeek: there is nothing to grade in {tmp_path / 'class'}\n",
    )


@pytest.mark.parametrize("out", [".", "../class", "inner"])
def test_results_are_not_written_among_the_submissions(tmp_path, out):
    inner = tmp_path / "class" / "inner" if out == "inner" else tmp_path / "class"
    made(inner, {"alice": FINISHED, "bob": FINISHED})
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        command(tmp_path / "class", tmp_path / "class" / out),
        **{"capture_output": True, "text": True, "cwd": ROOT},
    )
    assert done.returncode == 2
    assert done.stderr.endswith("holds the submissions: name another folder with --out\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_results_are_not_written_into_a_students_folder(tmp_path):
    folder = made(tmp_path / "class", {"alice": FINISHED, "bob": FINISHED})
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        command(folder, folder / "alice"), capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert "alice lies among the submissions and is not empty" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_link_to_itself_is_no_class_folder(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    done = subprocess.run(command(loop, tmp_path / "out"), capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_results_are_not_graded(tmp_path):
    folder = made(tmp_path / "class", {"alice": FINISHED})
    (folder / NAME).touch()
    done = subprocess.run(
        command(folder, tmp_path / "out"), capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"class holds {NAME}, which grading writes: name a folder with submissions only\n"
    )


def test_output_folder_that_cannot_be_made_is_told(tmp_path):
    folder = made(tmp_path / "class", {"alice": FINISHED})
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        command(folder, tmp_path / "file" / "out"), capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert done.stderr.startswith("nopeek: ")
    assert "cannot be made: Not a directory" in done.stderr
