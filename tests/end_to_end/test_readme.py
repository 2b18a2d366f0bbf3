"""What the README shows is what the commands print."""

import os
import shutil
import subprocess
import sys

import pytest

from grader.answer_key.variants import FAIR, MISTAKES, read
from tests.conftest import ROOT, STEPS
from tests.corpora import hostile

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [block.strip("\n") for block in README.split("```")[1::2]]


@pytest.fixture
def clone(tmp_path):
    """A folder in which the exercises are where they are in a clone."""
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    return tmp_path


def checked(clone):
    done = subprocess.run(
        [sys.executable, "-m", "grader", "check", "--submission", "exercises"],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip("\n")


def test_first_command_comes_first():
    assert "make check" in README.splitlines()[:15]


def test_first_output_is_real(clone):
    assert checked(clone) in BLOCKS


def test_output_for_a_mistake_is_real(clone):
    for name in ("step01_projections.py", "step02_scores.py"):
        text = (ROOT / "solutions" / name).read_text(encoding="utf-8")
        (clone / "exercises" / name).write_text(text.replace(" / d_k**0.5", ""), encoding="utf-8")
    assert checked(clone) in BLOCKS


def test_numbers_of_variants_are_real():
    counts = [sum(len(read(folder, step)) for step in STEPS) for folder in (MISTAKES, FAIR)]
    assert f"{counts[0]} known wrong versions" in README
    assert f"{counts[1]} right ones" in README
    for step in STEPS:
        line = next(line for line in README.splitlines() if line.startswith(f" {step.id}"))
        mistakes, fair = (len(read(folder, step)) for folder in (MISTAKES, FAIR))
        assert line.split()[1:] == f"{mistakes} of {mistakes} {fair} of {fair}".split()


def test_every_make_target_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {part.split()[1].strip("`,") for part in README.split("`") if part.startswith("make ")}
    assert named
    assert [name for name in named if f"\n{name}:" not in makefile] == []


def test_output_of_grading_is_real(tmp_path):
    for name in ("alice", "bob", "carol"):
        shutil.copytree(
            ROOT / ("exercises" if name == "bob" else "solutions"), tmp_path / "c" / name
        )
    (tmp_path / "c" / "dan").mkdir()
    for path in (tmp_path / "c").rglob("__pycache__"):
        shutil.rmtree(path)
    done = subprocess.run(
        [sys.executable, "-m", "grader", "grade", "c", "--out", "graded", "--seed", "7"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stdout.splitlines() if " left" not in line]
    assert "\n".join(said[:1] + said[-3:]) in BLOCKS


def test_number_of_attacks_is_real():
    attacks = hostile.attacks()
    assert f"{len(attacks)} hostile submissions" in README
    assert (
        f"{sum(attack.needs == 'process' for attack in attacks)} of them under all three" in README
    )
