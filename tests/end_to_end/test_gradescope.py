"""The Gradescope autograder: the zip, unpacked as Gradescope does, and run on submissions."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from grader.classroom import gradescope
from grader.classroom.course import Course, parse_course
from grader.classroom.gradescope import autograder
from grader.classroom.marking import Rules
from grader.report.files import read_notes
from grader.steps import registry
from tests.support.classes import override, right
from tests.support.handed_in import spread
from tests.support.stubs import solution_text

STEP = "step02_scores"
RIGHT = solution_text(STEP)
HOSTILE = """
import os, pathlib, sys
for place in {places!r}:
    try:
        pathlib.Path(place).write_text('{{"score": 1000}}')
    except OSError:
        pass
os._exit(0)
"""


@pytest.fixture(scope="module")
def zipped():
    return autograder([STEP], Course(), ())


@pytest.fixture
def home(tmp_path, zipped):
    """Unpack the zip as Gradescope does: its contents in source, run_autograder beside it."""
    home = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (home / name).mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(zipped)) as file:
        file.extractall(home / "source")
    shutil.copy(home / "source" / "run_autograder", home)
    users = [{"email": "ada@example.org", "id": 1}]
    (home / "submission_metadata.json").write_text(json.dumps({"users": users}), encoding="utf-8")
    return home


def run(home, isolation="process", python=sys.executable):
    env = {"AUTOGRADER": str(home), "PYTHON": str(python), "ISOLATION": isolation}
    env = {"PATH": os.environ["PATH"]} | {f"NOPEEK_{name}": value for name, value in env.items()}
    pipes = {"stdin": subprocess.DEVNULL, "capture_output": True}
    done = subprocess.run(["bash", str(home / "run_autograder")], env=env, **pipes)
    assert done.returncode == 0
    return json.loads((home / "results" / "results.json").read_text(encoding="utf-8"))


def submit(home, text):
    (home / "submission" / f"{STEP}.py").write_text(text, encoding="utf-8")


def test_zip_has_scripts_at_its_root_that_can_be_executed(zipped):
    with zipfile.ZipFile(io.BytesIO(zipped)) as file:
        for name in ("setup.sh", "run_autograder"):
            assert file.getinfo(name).external_attr >> 16 == 0o100755
            assert file.read(name).startswith(b"#!/usr/bin/env bash\n")
            subprocess.run(["bash", "-n"], input=file.read(name), check=True)


def test_zip_has_the_whole_kit_and_nothing_else(zipped):
    with zipfile.ZipFile(io.BytesIO(zipped)) as file:
        names = file.namelist()
        config = json.loads(file.read("autograder.json"))
    assert (config["steps"], config["course"]["title"], config["overrides"]) == ([STEP], "", [])
    assert len(names) == len(set(names))
    assert {f"kit/tests/hidden/test_{STEP}.py", f"kit/solutions/{STEP}.py"} <= {*names}
    assert "kit/grader/isolation/worker/__main__.py" in names
    assert not [name for name in names if "__pycache__" in name or "tests/unit" in name]


def test_zip_is_the_same_each_time(zipped):
    assert autograder([STEP], Course(), ()) == zipped


def test_wrong_submission_gets_its_cause(home):
    submit(home, RIGHT.replace("/ d_k**0.5", ""))
    results = run(home)
    assert results["score"] < 7.0
    assert "The scores are not divided by √d_k." in results["tests"][0]["output"]


@pytest.mark.long
def test_hostile_submission_cannot_write_its_own_result(home):
    places = [str(home / "results" / "results.json"), "results.json"]
    submit(home, HOSTILE.format(places=places))
    results = run(home)
    assert results["score"] == 0
    assert {test["status"] for test in results["tests"]} == {"failed"}


def test_nothing_handed_in_gets_no_points(home):
    assert run(home)["score"] == 0


def test_a_grader_that_dies_leaves_a_failing_result(home):
    (home / "results" / "results.json").write_text('{"score": 1000}', encoding="utf-8")
    results = run(home, python="/bin/false")
    assert results["score"] == 0.0
    assert "did not finish" in results["output"]


def test_an_isolation_that_is_not_there_is_no_grade_and_no_fall_back(home):
    assert "process" not in gradescope.ISOLATIONS
    submit(home, RIGHT)
    results = run(home, isolation="none-such")
    assert results["score"] == 0.0
    assert results["output"] == gradescope.NOT_GRADED


@pytest.mark.long
@pytest.mark.parametrize(
    "names",
    [[f"nopeek/exercises/{STEP}.py"], [f"mine/{STEP}.py", f"__MACOSX/mine/._{STEP}.py"]],
    ids=["bundle", "folder beside __MACOSX"],
)
def test_upload_is_read_as_in_class_grading(home, names):
    spread(home / "submission", dict.fromkeys(names, RIGHT))
    assert run(home)["score"] == 7


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("essay.pdf", b"%PDF", "it holds no notebook and none of the files step01_projections.py"),
        (f"{STEP}.py", "x".encode("utf-16"), f"{STEP}.py cannot be read: it is neither UTF-8 text"),
    ],
)
def test_wrong_upload_is_told_as_it_is(home, name, data, reason):
    (home / "submission" / name).write_bytes(data)
    found = run(home)
    assert found["output"].startswith(f"Your upload could not be graded: {reason}")
    assert "not your fault" not in found["output"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"users": [{"email": "ada@example.org", "id": 1}]}', "ada@example.org"),
        *((text, "submission") for text in ("", "[]", "{}")),
    ],
)
def test_student_is_named_as_gradescope_does_or_is_a_submission(tmp_path, text, name):
    (tmp_path / "metadata.json").write_text(text, encoding="utf-8")
    notes = read_notes(tmp_path / "metadata.json")
    assert [student for student, _ in gradescope._students(notes)] == [name]


LATE = """
title = "x"
steps = ["2", "3"]
due = 2026-11-20T12:00:00Z
late = {percent_per_day = 10}
extensions = {'b@x.org' = 2026-12-01T12:00:00Z, 'Cy Cole' = 2026-12-01T12:00:00Z}
groups = {'Team 1' = ['Cy Cole']}
"""


def final(created, users, changes=(), count=None):
    """The score of so many of these users, who handed all in at that time."""
    course = parse_course(LATE, registry.load())
    members = gradescope._students({"users": users, "created_at": created})
    group = [right(student, who=who) for student, who in members]
    return gradescope._final(Rules(course, [*changes]), group[:count])["score"]


def test_group_has_the_extension_of_a_member():
    users = [{"email": "a@x.org", "name": "Ann"}, {"email": "b@x.org", "name": "Bo"}]
    created = "2026-11-22T11:00:00.000000-07:00"
    assert [final(created, users, count=count) for count in (2, 1)] == [10.0, 7.0]


@pytest.mark.parametrize("name", ["Cy Cole", "Ben Beck", "Team 1"])
def test_name_that_a_student_has_chosen_brings_nobody_elses_grade(name):
    oral = override("", 10.0, "Ben Beck", "oral exam")
    users = [{"email": "m@x.org", "name": name}]
    assert final("2026-11-24T11:00:00Z", users, [oral]) == 6.0


def test_excused_student_is_told_so():
    excuse = override(student="ada@example.org", comment="ill", excuse=True)
    group = [right("ada@example.org")]
    found = gradescope._final(Rules(Course(), [excuse]), group)
    assert (found["score"], found["output"]) == (0.0, "Excused (Tim, today): ill.")
