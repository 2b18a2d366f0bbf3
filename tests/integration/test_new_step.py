"""A step from `dev new`, in a copy of the kit: it needs no file that the command did not name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, STEPS
from tests.support.stubs import write_stubs

FOLDERS = (
    "exercises",
    "grader",
    "notebooks",
    "solutions",
    "tests",
    "docs",
    "README.md",
    "pyproject.toml",
)
NUMBER = STEPS[-1].number + 1
STEP = f"step{NUMBER:02d}_doubled"


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=ROOT, capture_output=True
    )
    for name in listed.stdout.decode().splitlines():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    shutil.rmtree(folder / "exercises")  # which may have been worked on
    write_stubs(folder / "exercises")
    shutil.copy(ROOT / "exercises/.built.json", folder / "exercises")
    return folder


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_new_step_is_whole(copy):
    before = files(copy)
    said = run(copy, "dev", "new", str(NUMBER), "doubled")
    assert f"exercises/{STEP}.py is out of date" in run(copy, "dev", "check", str(NUMBER))
    said += run(copy, "build")
    after = files(copy)
    changed = {name for name in after if before.get(name) != after[name]}
    kept_by_build = {"exercises/.built.json", "notebooks/.built.json"}
    assert {name for name in changed - kept_by_build if name not in said} == set()
    left = run(copy, "dev", "check", str(NUMBER)).splitlines()
    assert left
    assert [line for line in left if not line.endswith("still says TODO.")] == []
    assert "2 of 2 points" in run(copy, "check", STEP, "--submission", "solutions")
    assert "not attempted" in run(copy, "check", STEP)
    assert f"{NUMBER}e  TODO" in run(copy, "quiz", str(NUMBER))
    assert "3 of 3                   1 of 1" in run(copy, "proof", STEP, "--suite", "visible")


@pytest.mark.parametrize(
    ("number", "name", "said"),
    [
        ("1", "again", "there is a step 1 already: step01_"),
        (str(NUMBER), "Not-a-name", "'Not-a-name' is not a name"),
        (str(NUMBER), STEPS[0].functions[0].name, "call the step something else"),
    ],
)
def test_step_that_cannot_be_begun_writes_nothing(number, name, said):
    done = subprocess.run(
        [sys.executable, "-m", "grader", "dev", "new", number, name],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(Path(ROOT / "solutions").glob(f"step{NUMBER:02d}_*"))
