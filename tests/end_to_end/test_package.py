"""The package as a learner gets it: the wheel is built, installed into a folder, and run."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.engine.kit_digest import kit_digest
from tests.conftest import ROOT, STEPS

SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def build(kind, source, out):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(out.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that the wheel is installed into."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    return site


@pytest.fixture(scope="module")
def run(installed):
    """run(folder, *arguments): what the installed command printed there, and its exit status."""

    def run(folder, *arguments):
        variables = {**os.environ, "PYTHONPATH": str(installed)}
        variables.pop("NOPEEK_HOME", None)
        command = [sys.executable, str(installed / "bin" / "nopeek"), *arguments]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout + done.stderr, done.returncode

    return run


@pytest.fixture
def home(run, tmp_path):
    """A learner's folder."""
    said, status = run(tmp_path, "init")
    assert status == 0, said
    return tmp_path


def test_empty_folder_says_which_command_fills_it(run, tmp_path):
    said, status = run(tmp_path, "check")
    assert (said, status) == (
        "nopeek: there are no exercises here: run `nopeek init`, which writes them\n",
        2,
    )


def test_learner_works_in_the_folder_that_init_writes(run, home):
    first = STEPS[0]
    said, status = run(home, "list")
    assert status == 0
    assert said.count("not attempted") == len(STEPS)
    assert "then `nopeek check` again" in run(home, "check", "1")[0]
    assert "`nopeek hint 1` gives the next." in run(home, "hint", "1")[0]
    path = home / "exercises" / first.filename
    path.write_text("mine", encoding="utf-8")
    assert run(home, "reset", "1")[1] == 0
    assert "NotImplementedError" in path.read_text(encoding="utf-8")
    assert path.with_name(f"{first.filename}.1.bak").read_text(encoding="utf-8") == "mine"


def test_init_names_another_folder_and_keeps_what_is_there(run, tmp_path):
    said, status = run(tmp_path, "init", "learn")
    assert status == 0
    assert "`cd learn" in said
    path = tmp_path / "learn" / "exercises" / STEPS[0].filename
    path.write_text("mine", encoding="utf-8")
    path.with_name(STEPS[1].filename).unlink()
    said, _ = run(tmp_path, "init", "learn")
    assert said.startswith("Wrote 1 exercise.\nKept what was there: ")
    assert path.read_text(encoding="utf-8") == "mine"


def test_learners_folder_holds_no_answer(home):
    written = {path: path.read_text("utf-8") for path in home.rglob("*") if path.is_file()}
    assert {path.parent.name for path in written} == {home.name, "exercises", "notebooks"}
    assert not [path for path, text in written.items() if "BEGIN SOLUTION" in text]
    for step in STEPS:
        source = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        body = SOLUTION.findall(source)[0].strip()
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
    path.write_text((ROOT / "solutions" / step.filename).read_text("utf-8"), encoding="utf-8")
    assert judged(run, home, step.id)[0]["status"] == "passed"
    mistake = read(MISTAKES, step)[0]
    path.write_text(mistake.source, encoding="utf-8")
    checks = judged(run, home, step.id)[0]["checks"]
    assert mistake.id in {(check["diagnosis"] or {}).get("misconception") for check in checks}


def test_wheel_holds_all_that_verdicts_depend_on(installed):
    program = "from grader.engine.kit_digest import kit_digest; print(kit_digest())"
    variables = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=installed, env=variables, capture_output=True, text=True)
    assert done.stdout.strip() == kit_digest()


def test_sdist_builds_the_same_wheel(wheel, tmp_path):
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as file:
        file.extractall(tmp_path, filter="data")
    again = build("wheel", next(tmp_path.glob("nopeek-*")), tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {i.filename: i.CRC for i in one.infolist()} == {
            i.filename: i.CRC for i in other.infolist()
        }
