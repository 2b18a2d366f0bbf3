"""Hidden inputs of a class come from its gradebook's secret, which no other file holds."""

import json
import subprocess

import pytest

from grader.classroom.gradebook import Gradebook
from tests.conftest import ROOT
from tests.support import forks

STEP = "step02_scores"
FINISHED = (ROOT / "solutions" / f"{STEP}.py").read_text(encoding="utf-8")
UNSCALED = (
    "import numpy as np\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
)
NUMBERS = (1, 7, 42)
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


def run(*words, status=0):
    done = forks.run("grader", *map(str, words), cwd=ROOT, stderr=subprocess.PIPE)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def check(folder, *words, status=0):
    where = ["--suite", "hidden", "--isolation", "process", "--submission", folder]
    return run("check", "2", *where, *words, status=status)


def grade(folder, out, *words):
    return run("grade", folder, "--out", out, "--step", "2", "--isolation", "process", *words)


def points(out):
    with Gradebook(out) as book:
        return {one.student: one.report.score for one in book.graded()}


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    """For each number, a submission with no formula: a table of the right answers to its inputs."""
    found = {}
    for number in NUMBERS:
        place = tmp_path_factory.mktemp("noted") / "table"
        notes = hand_in(place.parent / "notes", NOTES_ARGUMENTS.format(place=str(place)))
        check(notes, "--seed", number)
        rows = (line.split("|") for line in place.read_text().splitlines())
        table = {name: (dtype, json.loads(shape), data) for name, dtype, shape, data in rows}
        found[number] = LOOKS_UP.format(table=table)
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_table_of_answers_earns_nothing_for_a_number_given_to_grade(cheats, number, tmp_path):
    check(hand_in(tmp_path / "class" / "cheat", cheats[number]), "--seed", number)  # where it fits
    hand_in(tmp_path / "class" / "honest", FINISHED)
    grade(tmp_path / "class", tmp_path / "out", "--seed", number)
    assert points(tmp_path / "out") == {"cheat": 0, "honest": 7}
