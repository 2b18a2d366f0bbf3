"""Grading a class through the real command: resumed after every kill, the same in any order."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from grader.classroom.gradebook import NAME, Gradebook
from tests.conftest import ROOT
from tests.support import processes
from tests.support.clusters import results_kept
from tests.support.commands import nopeek
from tests.support.handed_in import spread
from tests.support.stubs import solution_text, stub_text

STEP = "step02_scores"
FINISHED = solution_text(STEP)
UNSCALED = "def attention_scores(q, k):\n    return q @ k.swapaxes(-1, -2)\n"
EXITS = "import os\ndef attention_scores(q, k):\n    os._exit(0)\n"
GRADE = ["grade", "--isolation", "process", "--suite", "visible", "--step", "2"]


def made(folder, students):
    """A class: student -> source of step 2; None for a student who handed in nothing."""
    spread(folder, {f"{name}/{STEP}.py": text for name, text in students.items() if text})
    for name in students:
        (folder / name).mkdir(exist_ok=True)
    return folder


CLASS = {
    **{f"right {i}": f"{FINISHED}\n# {i}\n" for i in range(4)},
    **{f"unscaled {i}": f"{UNSCALED}\n# {i}\n" for i in range(4)},
    **{f"exits {i}": f"{EXITS}\n# {i}\n" for i in range(2)},
    "copy of right 0": f"{FINISHED}\n# 0\n",
    "stub": stub_text(STEP),
    "empty": None,
}


def run(folder, out, *more, **how):
    return nopeek(*GRADE, folder, "--out", out, *more, **how)


def start(folder, out, *more, **how):
    """A process that grades a class."""
    command = [sys.executable, "-m", "grader", *GRADE, folder, "--out", out, *more]
    return subprocess.Popen(command, cwd=ROOT, text=True, **how)


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
    assert "\n12 graded, 1 not gradable." in run(folder, out, "--jobs", "2", status=1)
    return folder, out


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


def test_second_run_grades_nothing_and_warns_again_of_visible_checks(graded):
    before = results(graded[1])
    said = run(*graded, status=1)
    assert "note: visible checks show what a submission returns and prints" in said
    assert "a program that looks them up passes" in said
    assert "0 graded, 12 known from before, 1 not gradable." in said
    assert results(graded[1]) == before


def test_same_work_is_graded_once(graded):
    assert results_kept(graded[1]) == 11


@pytest.mark.long
def test_killed_again_and_again_it_ends_with_the_same_grades(graded, tmp_path):
    """Killed at random moments: before the first result, between two, while one is written."""
    moments = random.Random(5)
    kept = [0]
    while len(kept) < 12:
        quiet = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        process = start(graded[0], tmp_path, "--jobs", "2", start_new_session=True, **quiet)
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


def begun(*arguments, **how):
    """A process that grades a class and has kept a result."""
    process = start(*arguments, **how)
    while results_kept(arguments[1]) < 1:
        time.sleep(0.01)
    return process


def test_judges_of_a_killed_run_end_too(graded, tmp_path):
    process = begun(graded[0], tmp_path, "--jobs", "2", stdout=subprocess.DEVNULL)
    judges = processes.children(process.pid)
    assert judges
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert processes.soon(lambda: all(map(processes.gone, judges)))


def test_interrupted_run_says_how_to_go_on(graded, tmp_path):
    how = {"stderr": subprocess.PIPE, "preexec_fn": processes.interruptible}
    process = begun(graded[0], tmp_path, **how)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == (
        "nopeek: stopped; graded work is kept: the same command continues\n"
    )
    assert process.returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("isolation", ["process", "bubblewrap"])
def test_run_leaves_no_temporary_files(graded, tmp_path, isolation):
    place, out = tmp_path / "tmp", tmp_path / "out"
    place.mkdir()
    more = ("--jobs", "2", "--isolation", isolation)
    run(graded[0], out, *more, status=1, env={"TMPDIR": str(place)}, forked=False)
    assert list(place.iterdir()) == []


# What is in the folder, where the results go, and how the sentence goes on.
ALICE = f"alice/{STEP}.py"
REFUSED = {
    "nothing": ((), "out", "there is nothing to grade in "),
    "results where the class is": ((ALICE,), "class", "holds the submissions: name another"),
    "results above the class": ((f"inner/{ALICE}",), "class", "holds the submissions: name "),
    "results in a student's folder": (
        *((ALICE,), "class/alice", "alice lies among the submissions and is not empty"),
    ),
    "results among the work": (
        *((ALICE, NAME), "out", f"class holds {NAME}, which grading writes: name a folder with"),
    ),
    "results below a file": ((ALICE,), f"class/{ALICE}/out", "out: Not a directory"),
}


@pytest.mark.parametrize(("files", "out", "why"), REFUSED.values(), ids=REFUSED)
def test_folder_that_cannot_be_graded_is_told_and_left_as_it_is(tmp_path, files, out, why):
    (tmp_path / "class").mkdir()
    spread(tmp_path / "class", dict.fromkeys(files, FINISHED))
    before = sorted(tmp_path.rglob("*"))
    said = run(tmp_path / "class", tmp_path / out, status=2)
    assert said.splitlines()[-1].startswith("nopeek: ")
    assert why in said.splitlines()[-1]
    assert "Traceback" not in said
    assert sorted(tmp_path.rglob("*")) == before


def test_link_to_itself_is_not_a_class_folder(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert run(loop, tmp_path / "out", status=2).count("\n") == 1
