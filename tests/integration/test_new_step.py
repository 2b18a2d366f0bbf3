"""A step from `dev new`, in a copy of the kit: it needs no file that the command did not name."""

import os
import shutil
import subprocess

import pytest

from tests.conftest import ROOT, STEPS
from tests.support import forks
from tests.support.stubs import write_stubs

pytestmark = pytest.mark.long

FOLDERS = ("exercises", "grader", "notebooks", "solutions", "tests", "docs")
FILES = ("AGENTS.md", "README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "pyproject.toml")
NUMBER = STEPS[-1].number + 1
PART = STEPS[-1].part
STEP = f"step{NUMBER:02d}_doubled"
SAID = "still says TODO."


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def grader(folder, *arguments):
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return forks.run("grader", *arguments, cwd=folder, env=env, stderr=subprocess.PIPE)


def run(folder, *arguments):
    done = grader(folder, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    command = ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS, *FILES]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, path)
    shutil.rmtree(folder / "exercises")  # which may have been worked on
    write_stubs(folder / "exercises")
    shutil.copy(ROOT / "exercises/.built.json", folder / "exercises")
    return folder


@pytest.fixture(scope="module")
def named(copy):
    """The skeleton of a step in the copy, built: the files that `dev new` named."""
    before = files(copy)
    said = run(copy, "dev", "new", "doubled")
    after = files(copy)
    run(copy, "build")
    paths = {word.rstrip(":") for line in said.splitlines() for word in line.split()}
    assert {name for name in after if before.get(name) != after[name]} - paths == set()
    return sorted(path for path in paths if (copy / path).is_file())


def test_skeleton_is_whole_but_for_its_todos_and_what_the_author_edits(copy, named):
    left = run(copy, "dev", "check", str(NUMBER)).splitlines()
    left = [line for line in left if not line.endswith(SAID)]
    for said in (
        f"solutions/{STEP}.py has",
        *(f"solutions/{step.id}.py: the map below" for step in STEPS if step.part == PART),
        f"solutions/{STEP}.py: the map below",
        f"docs/student.md has no row `| {NUMBER} | `doubled` |",
        "docs/student.md should say that Part IV has steps",
        "docs/lessons/step00_whole_picture.md: no row of its table covers",
    ):
        (found,) = (line for line in left if line.startswith(said))
        left.remove(found)
    assert left == []
    assert "2 of 2 points" in run(copy, "check", STEP, "--submission", "solutions")
    assert "not attempted" in run(copy, "check", STEP)
    assert f"{NUMBER}e  Explain in two sentences" in run(copy, "quiz", str(NUMBER))
    assert "3 of 3                   1 of 1" in run(copy, "proof", STEP, "--suite", "visible")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Not-a-name", "'Not-a-name' is not a name"),
        ("class", "'class' is not a name"),
        (STEPS[0].functions[0].name, "call the step something else"),
    ],
)
def test_step_that_cannot_be_begun_writes_nothing(name, said):
    done = grader(ROOT, "dev", "new", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list((ROOT / "solutions").glob(f"step{NUMBER}_*"))
