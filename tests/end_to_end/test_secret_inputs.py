"""Hidden inputs of a class come from its gradebook's secret, which no other file holds."""

import base64
import contextlib
import json
import os
import shutil
import sqlite3
import zlib

import pytest

from grader.classroom import hidden_inputs
from grader.classroom.gradebook import NAME, Gradebook
from tests.support.commands import nopeek
from tests.support.stubs import solution_text

pytestmark = pytest.mark.long

STEP = "step02_scores"
FINISHED = solution_text(STEP)
UNSCALED = "def attention_scores(q, k):\n    return q @ k.swapaxes(-1, -2)\n"
NUMBER = 7
NOTES_ARGUMENTS = """
import hashlib
from pathlib import Path
import numpy as np

def attention_scores(q, k):
    right = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    with Path({place!r}).open("a") as table:
        name = hashlib.sha256(repr((q.shape, k.shape)).encode() + q.tobytes() + k.tobytes())
        table.write(f"{{name.hexdigest()}}|{{right.dtype}}|{{[*right.shape]}}|{{right.tobytes().hex()}}\\n")
    return right
"""
LOOKS_UP = """
import hashlib
import numpy as np

TABLE = {table!r}

def attention_scores(q, k):
    name = hashlib.sha256(repr((q.shape, k.shape)).encode() + q.tobytes() + k.tobytes())
    dtype, shape, data = TABLE[name.hexdigest()]
    return np.frombuffer(bytes.fromhex(data), dtype).reshape(shape).copy()
"""


def hand_in(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{STEP}.py").write_text(text, encoding="utf-8")
    return folder


def check(folder):
    where = ("--suite", "hidden", "--isolation", "process", "--submission", folder)
    return nopeek("check", "2", *where, "--seed", NUMBER)


def grade(folder, out, *words, **how):
    where = ("--out", out, "--step", "2", "--isolation", "process")
    return nopeek("grade", folder, *where, *words, **how)


def points(out):
    with Gradebook(out) as book:
        return {one.student: one.report.score for one in book.graded()}


def write_cheat(folder):
    """Return a submission with no formula: a table of the right answers to the number's inputs."""
    place = folder / "table"
    check(hand_in(folder, NOTES_ARGUMENTS.format(place=str(place))))
    rows = (line.split("|") for line in place.read_text().splitlines())
    table = {name: (dtype, json.loads(shape), data) for name, dtype, shape, data in rows}
    return LOOKS_UP.format(table=table)


def test_table_of_answers_earns_nothing_for_a_number_given_to_grade(tmp_path):
    cheat = hand_in(tmp_path / "class" / "cheat", write_cheat(tmp_path / "notes"))
    check(cheat)  # where it fits
    hand_in(tmp_path / "class" / "honest", FINISHED)
    grade(tmp_path / "class", tmp_path / "out", "--seed", NUMBER)
    assert points(tmp_path / "out") == {"cheat": 0, "honest": 7}


@pytest.fixture(scope="module")
def graded_twice(tmp_path_factory):
    """A class in which one student handed in again after feedback, and what the runs said."""
    folder = tmp_path_factory.mktemp("class")
    class_, out = folder / "class", folder / "results" / "graded"
    for name, text in {"anna": UNSCALED, "ben": UNSCALED, "cy": FINISHED}.items():
        hand_in(class_ / name, text)
    said = [grade(class_, out)]
    first = points(out)
    hand_in(class_ / "anna", f"{FINISHED}\n# mine\n")
    said.append(grade(class_, out))
    return out, first, said


def test_changed_work_is_judged_in_the_next_round(graded_twice):
    out, first, said = graded_twice
    assert ["round 1" in said[0], "round 2" in said[1]] == [True, True]
    assert "1 graded, 2 known from before." in said[1]
    with Gradebook(out) as book:
        found = {one.student: (one.report.seed, one.report.score) for one in book.graded()}
    assert found == {"anna": (2, 7), "ben": (1, first["ben"]), "cy": (1, 7)}


@pytest.mark.parametrize("student", ["anna", "ben"])
def test_appeal_is_replayed_with_one_command(graded_twice, student, tmp_path):
    page = tmp_path / "page.html"
    said = nopeek("replay", graded_twice[0], student, "--html", page)
    assert f"This is what was graded: {points(graded_twice[0])[student]:g} of 7 points." in said
    assert page.is_file()


def test_no_file_but_the_gradebook_holds_the_secret_or_a_key(graded_twice, tmp_path):
    out, _, said = graded_twice
    for kind in ("junit", "csv", "excel"):
        nopeek("export", out, "--format", kind, "--out", tmp_path / kind)
    with Gradebook(out) as book:
        secret = book.secret()
    keys = [hidden_inputs.derive_key(secret, number) for number in (1, 2)]
    words = [form for key in (secret.hex(), *keys) for form in forms(key)]
    files = [path for place in (out, tmp_path) for path in place.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path.name for path in files if has_any(path.read_bytes(), words)] == [NAME]
    assert not any(word in "".join(said).encode() for word in words)
    with contextlib.closing(sqlite3.connect(out / NAME)) as db:
        packed = [row[0] for row in db.execute("select report from result")]
    assert not any(has_any(zlib.decompress(report), words) for report in packed)


def forms(key):
    data = bytes.fromhex(key)
    texts = (key, str(int(key, 16)), repr(data))
    return (data, base64.b64encode(data), *(text.encode() for text in texts))


def has_any(data, words):
    return any(word in data for word in words)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_results_are_private_when_made_and_shared_ones_stay_so(graded_twice, tmp_path):
    out = graded_twice[0]
    assert out.stat().st_mode & 0o777 == 0o700
    assert (out / NAME).stat().st_mode & 0o777 == 0o600
    assert "can read" not in "".join(graded_twice[2])
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    hand_in(tmp_path / "class" / "anna", UNSCALED)
    assert "can read" not in grade(tmp_path / "class", shared)  # only the folder is open
    (shared / NAME).chmod(0o664)
    assert "note: others on this machine can read or replace" in grade(tmp_path / "class", shared)
    shared.chmod(0o770)
    assert "can read" not in grade(tmp_path / "class", shared)
    assert shared.stat().st_mode & 0o777 == 0o770
    assert (shared / NAME).stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize(
    ("words", "says"),
    [(["{}", "zoe"], "there is no 'zoe' in"), (["nowhere", "anna"], "there is no gradebook in")],
)
def test_appeal_that_cannot_be_replayed_is_told_in_a_sentence(graded_twice, words, says):
    whole = [word.format(graded_twice[0]) for word in words]
    told = nopeek("replay", *whole, status=2)
    assert told.count("\n") == 1
    assert says in told


COURSE = """title = "One step"
steps = ["2"]
due = 2026-01-01T12:00:00Z
feedback = "full"
[extensions]
ben = {}
"""


def test_full_feedback_waits_for_the_last_extension_and_changes_no_points(graded_twice, tmp_path):
    out, file = tmp_path / "copy", tmp_path / "course.toml"
    shutil.copytree(graded_twice[0], out)
    before, class_ = points(out), graded_twice[0].parent.parent / "class"
    asked = ["grade", class_, "--out", out, "--course", file, "--isolation", "process"]
    file.write_text(COURSE.format("2999-01-01T12:00:00Z"))
    assert "waits for the last extension" in nopeek(*asked, status=2)
    file.write_text(COURSE.format("2026-01-02T12:00:00Z"))
    assert 'note: feedback = "full" shows hidden inputs' in nopeek(*asked)
    assert points(out) == before
    shown = []
    for place in (graded_twice[0], out):
        report = json.loads((place / "reports" / "ben.json").read_text(encoding="utf-8"))
        shown.append(any(check["evidence"] for check in report["steps"][0]["checks"]))
    assert shown == [False, True]


def test_appeal_knows_a_file_that_could_not_be_read(tmp_path):
    hand_in(tmp_path / "class" / "anna", FINISHED)
    (tmp_path / "class" / "anna" / "step03_mask.py").write_text("x = 1\0")
    grade(tmp_path / "class", tmp_path / "out", "--step", "3", status=1)
    said = nopeek("replay", tmp_path / "out", "anna")
    assert "it contains a null byte" in said
    assert "This is what was graded: 7 of 19.5 points." in said
