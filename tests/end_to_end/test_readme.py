"""What the README shows is what the commands print."""

import os
import re
import shutil
import subprocess
import sys

from grader.authoring.readme import fresh_readme
from grader.steps.registry import load
from tests.conftest import ROOT
from tests.support.stubs import write_stubs

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [block.strip("\n") for block in README.split("```")[1::2]]


def test_screens_and_counts_are_up_to_date():
    assert fresh_readme(load(), README) == README, "README.md is out of date: run `make build`"


def test_generated_parts_are_found():
    """Changed numbers in all of them are put right."""
    stale = re.sub(r"\d+ known wrong|\d+ right ones|\d+ hostile|\d+ of them under", _zero, README)
    stale = re.sub(r"(?m)^.*(\d points|\d+ of \d+)$", "", stale)
    assert stale != README
    assert fresh_readme(load(), stale) == README


def _zero(match):
    return re.sub(r"\d+", "0", match[0])


def test_first_command_comes_first():
    assert "make check" in README.splitlines()[:15]


def test_every_make_target_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {part.split()[1].strip("`,") for part in README.split("`") if part.startswith("make ")}
    assert named
    assert [name for name in named if f"\n{name}:" not in makefile] == []


def test_output_of_grading_is_real(tmp_path):
    for name in ("alice", "bob", "carol"):
        if name == "bob":
            write_stubs(tmp_path / "c" / name)
        else:
            shutil.copytree(ROOT / "solutions", tmp_path / "c" / name)
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
