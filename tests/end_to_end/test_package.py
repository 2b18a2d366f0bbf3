"""The package as a learner gets it: the wheel is built, installed where nothing is, and run."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from grader.answer_key.variants import MISTAKES, read
from grader.engine.kit_digest import kit_digest
from grader.steps.quiz import PREFACE_TEXT
from grader.steps.stubs import solution_of
from tests.conftest import ROOT, STEPS

SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def build(kind, source, out):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(out.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def without_extras(requirements):
    """Return the names of what is required, by these lines, without any extra."""
    required = map(Requirement, requirements)
    return [r.name for r in required if not r.marker or r.marker.evaluate({"extra": ""})]


def with_all_they_require(names):
    """Return the distributions of these names, and those that they require in turn."""
    found, waiting = {}, list(names)
    while waiting:
        one = distribution(waiting.pop())
        if one.name not in found:
            found[one.name] = one
            waiting += without_extras(one.requires or ())
    return found.values()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The programs of an environment that has the wheel, what it requires, and nothing else."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (name for name in file.namelist() if name.endswith("dist-info/METADATA"))
        lines = file.read(metadata).decode().splitlines()
    asked = [x.partition(": ")[2] for x in lines if x.startswith("Requires-Dist: ")]
    for one in with_all_they_require(without_extras(asked)):
        for top in {Path(file).parts[0] for file in one.files} - {"..", "__pycache__"}:
            (site / top).symlink_to(one.locate_file(top))
    command = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*command, *options, str(wheel)], check=True)
    return home / "bin"


def variables(programs):
    """Return the variables of an environment that is active: no other kit is found."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NOPEEK_HOME", "PYTHONPATH")}
    return {**kept, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}


@pytest.fixture(scope="module")
def run(installed):
    """run(folder, *arguments): what the installed command printed there, and its exit status."""

    def run(folder, *arguments):
        command = [str(installed / "nopeek"), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, cwd=folder, env=variables(installed), **pipes)
        assert "Traceback" not in done.stdout
        return done.stdout, done.returncode

    return run


@pytest.fixture
def home(run, tmp_path):
    """A learner's folder."""
    said, status = run(tmp_path, "init")
    assert status == 0, said
    return tmp_path


@pytest.mark.long
def test_environment_has_only_what_the_package_requires(installed):
    program = "import grader; print(grader.__file__); import torch"
    command, pipes = [installed / "python", "-c", program], {"capture_output": True, "text": True}
    done = subprocess.run(command, cwd=installed, env=variables(installed), **pipes)
    assert done.stdout.startswith(str(installed.parent))
    assert "No module named 'torch'" in done.stderr


def test_empty_folder_says_which_command_fills_it(run, tmp_path):
    said, status = run(tmp_path, "check")
    assert said == "nopeek: there are no exercises here: run `nopeek init`, which writes them\n"
    assert status == 2


@pytest.mark.long
def test_learner_works_in_the_folder_that_init_writes(run, home):
    first = STEPS[0]
    said, status = run(home, "list")
    assert status == 0
    assert said.count("not attempted") == len(STEPS)
    assert "then `nopeek check 1` again" in run(home, "check", "1")[0]
    assert "`nopeek hint 1` gives the next." in run(home, "hint", "1")[0]
    path = home / "exercises" / first.filename
    path.write_text("mine", encoding="utf-8")
    assert run(home, "reset", "1")[1] == 0
    assert "NotImplementedError" in path.read_text(encoding="utf-8")
    assert path.with_name(f"{first.filename}.1.bak").read_text(encoding="utf-8") == "mine"


@pytest.mark.long
def test_init_names_another_folder_and_keeps_what_is_there(run, tmp_path):
    said, status = run(tmp_path, "init", "learn")
    assert status == 0
    assert "`cd learn" in said
    path = tmp_path / "learn" / "exercises" / STEPS[0].filename
    path.write_text("mine", encoding="utf-8")
    path.with_name(STEPS[1].filename).unlink()
    said, _ = run(tmp_path, "init", "learn")
    assert said.startswith("Wrote exercises (1).\nKept what was there: ")
    assert path.read_text(encoding="utf-8") == "mine"


def test_init_writes_step_0_and_says_so(run, home):
    text = (home / "exercises" / PREFACE_TEXT.name).read_text(encoding="utf-8")
    assert text.startswith("# Step 0")
    assert "<!-- figure" not in text
    assert f"Read `exercises/{PREFACE_TEXT.name}` first" in (home / "README.md").read_text("utf-8")
    (home / "exercises" / PREFACE_TEXT.name).unlink()
    assert run(home, "init")[0].startswith("Wrote exercises (1).\nKept what")


def test_learners_folder_holds_no_answer(home):
    written = {path: path.read_text("utf-8") for path in home.rglob("*") if path.is_file()}
    assert {path.parent.name for path in written} == {home.name, "exercises", "notebooks"}
    assert not [path for path, text in written.items() if "BEGIN SOLUTION" in text]
    for step in STEPS:
        body = SOLUTION.search(solution_of(step))[1].strip()
        assert not [path for path, text in written.items() if body in text]


def test_exercises_are_found_from_a_folder_in_the_learners(run, home):
    said, _ = run(home / "notebooks", "check", "1")
    assert "0 of" in said


def judged(run, home, *arguments):
    report = home / "report.json"
    run(home, "check", *arguments, "--json", str(report))
    return json.loads(report.read_text(encoding="utf-8"))["steps"]


def test_right_step_passes_and_a_known_mistake_is_named(run, home):
    step = STEPS[1]
    path = home / "exercises" / step.filename
    path.write_text(solution_of(step), encoding="utf-8")
    assert judged(run, home, step.id)[0]["status"] == "passed"
    mistake = read(MISTAKES, step)[0]
    path.write_text(mistake.source, encoding="utf-8")
    checks = judged(run, home, step.id)[0]["checks"]
    assert mistake.id in {(check["diagnosis"] or {}).get("misconception") for check in checks}


def test_wheel_holds_all_that_verdicts_depend_on(installed):
    program = "from grader.engine.kit_digest import kit_digest; print(kit_digest())"
    (site,) = installed.parent.glob("lib/python*/site-packages")
    full = {**os.environ, "PYTHONPATH": str(site)}  # the digest names torch's version too
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=installed, env=full, capture_output=True, text=True)
    assert (done.stderr, done.stdout.strip()) == ("", kit_digest())


@pytest.mark.long
def test_sdist_builds_the_same_wheel(wheel, tmp_path):
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as file:
        file.extractall(tmp_path, filter="data")
    again = build("wheel", next(tmp_path.glob("nopeek-*")), tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        first, second = ({i.filename: i.CRC for i in x.infolist()} for x in (one, other))
    assert first == second
