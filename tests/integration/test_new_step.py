"""A step from `dev new`, in a copy of the kit: it needs no file that the command did not name."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT, STEPS
from tests.support.stubs import write_stubs

pytestmark = pytest.mark.long

FOLDERS = ("exercises", "grader", "notebooks", "solutions", "tests", "docs")
FILES = ("AGENTS.md", "README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "pyproject.toml")
NUMBER = STEPS[-1].number + 1
STEP = f"step{NUMBER:02d}_doubled"
# What the tests of the kit demand of every step, besides `dev check` itself.
TESTS = (
    "tests/unit/engine/test_abilities.py",
    "tests/unit/steps",
    "tests/integration/test_hints.py",
    "tests/integration/test_lessons.py",
    "tests/integration/test_quiz.py",
    "tests/end_to_end/test_guides.py",
)
FOR_A_STEP = f"{STEP} or {NUMBER}a or doubled or last_hints or every_key or no_other_step"
PROSE = "# It adds a number to itself, and nothing else about the number matters here.\n"
SAID = "still says TODO."


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def python(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )


def run(folder, *arguments):
    done = python(folder, "grader", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def fill(text):
    """A file of the skeleton as an author completes it."""
    text = text.replace("TODO minutes", "30 minutes").replace("TODO of 5", "2 of 5")
    text = text.replace("steps TODO.", "step 1.")
    text = re.sub(r"# TODO: the lesson\.(.*\n)*?#\n", PROSE * 46 + "#\n", text)
    text = text.replace('a": lambda f: 0', 'a": lambda f: f.doubled(array(2))[0]')
    text = text.replace('answer = "0"', 'answer = "4"', 1)
    return re.sub(r" *# TODO$", "", text, flags=re.M).replace("TODO: ", "").replace("TODO", "it")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS, *FILES],
        cwd=ROOT,
        capture_output=True,
    )
    for name in listed.stdout.decode().splitlines():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    shutil.rmtree(folder / "exercises")  # which may have been worked on
    write_stubs(folder / "exercises")
    shutil.copy(ROOT / "exercises/.built.json", folder / "exercises")
    return folder


@pytest.fixture(scope="module")
def named(copy):
    """The skeleton of a step in the copy, built: the files that `dev new` named."""
    before = files(copy)
    said = run(copy, "dev", "new", str(NUMBER), "doubled")
    assert f"exercises/{STEP}.py is out of date" in run(copy, "dev", "check", str(NUMBER))
    run(copy, "build")
    after = files(copy)
    paths = {word.rstrip(":") for line in said.splitlines() for word in line.split()}
    assert {name for name in after if before.get(name) != after[name]} - paths == set()
    return sorted(path for path in paths if (copy / path).is_file())


def test_skeleton_is_whole_but_for_its_todos(copy, named):
    left = run(copy, "dev", "check", str(NUMBER)).splitlines()
    (length,) = [line for line in left if not line.endswith(SAID)]
    assert f"solutions/{STEP}.py has" in length
    assert "words of prose before its last stub" in length
    assert "2 of 2 points" in run(copy, "check", STEP, "--submission", "solutions")
    assert "not attempted" in run(copy, "check", STEP)
    assert f"{NUMBER}e  Explain in two sentences" in run(copy, "quiz", str(NUMBER))
    assert "3 of 3                   1 of 1" in run(copy, "proof", STEP, "--suite", "visible")


@pytest.fixture(scope="module")
def completed(copy, named):
    """The same step as its author leaves it, after editing only files that have a TODO."""
    for path in (copy / name for name in named):
        text = path.read_text(encoding="utf-8")
        if "TODO" in text:
            path.write_text(fill(text), encoding="utf-8")
    run(copy, "build")
    return copy


def test_completed_step_passes_what_the_kit_demands_of_every_step(completed):
    assert run(completed, "dev", "check") == "Nothing is missing.\n"
    done = python(completed, "pytest", "-q", *TESTS, "-k", FOR_A_STEP)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        (
            "grader/steps/bottom_hints.toml",
            "[doubled]",
            "[x]",
            "[doubled] with `tool` and `almost`",
        ),
        ("tests/integration/test_quiz.py", f'"{NUMBER}b":', '"x":', f"KEYS has no {NUMBER}b"),
        ("docs/student.md", f"| {NUMBER} |", "x", f"no row `| {NUMBER} | `doubled` |"),
        ("docs/student.md", f"to {NUMBER})", "x", "should say that Part"),
        ("docs/lessons/step00_whole_picture.md", f"to {NUMBER} |", "x", f"covers step {NUMBER}"),
        (f"solutions/{STEP}.py", "**After this you can**", "x", "lists 0 points"),
        (f"solutions/{STEP}.py", "**Try first:**", "x", "should end with `**Try first:**`"),
        (f"solutions/{STEP}.py", "## By hand", "x", "no section `## By hand`"),
        (f"solutions/{STEP}.py", PROSE * 20, "x", "words of prose before its last stub"),
        (f"solutions/{STEPS[-1].id}.py", f"{NUMBER} doubled", "x", f"does not name step {NUMBER}"),
        (f"grader/steps/questions/{STEP}.toml", "two sentences", "x", 'asks for "two sentences"'),
    ],
)
def test_check_of_the_step_finds_what_was_left_out(completed, path, old, new, said):
    file = completed / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    try:
        found = run(completed, "dev", "check", str(NUMBER))
    finally:
        file.write_text(text, encoding="utf-8")
    assert path in found
    assert said in found


@pytest.mark.parametrize(
    ("number", "name", "said"),
    [
        ("1", "again", "there is a step 1 already: step01_"),
        (str(NUMBER), "Not-a-name", "'Not-a-name' is not a name"),
        (str(NUMBER), "class", "'class' is not a name"),
        (str(NUMBER + 1), "later", f"the next step is {NUMBER}, not {NUMBER + 1}"),
        (str(NUMBER), STEPS[0].functions[0].name, "call the step something else"),
    ],
)
def test_step_that_cannot_be_begun_writes_nothing(number, name, said):
    done = python(ROOT, "grader", "dev", "new", number, name)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list((ROOT / "solutions").glob(f"step{number:0>2}_{name}*"))
