"""`train`, as it is called: it learns, keeps its weights, goes on from them, and can cheat."""

import os
import re
import subprocess
import sys

from tests.conftest import ROOT
from tests.support.stubs import write_stubs

TINY = ["--layers", "1", "--heads", "2", "--d-model", "8", "--length", "8", "--batch", "4"]


def trained(folder, *options):
    done = subprocess.run(
        [sys.executable, "-m", "grader", "train", *TINY, "--out", "kept", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout + done.stderr


def losses(text):
    return [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", text)]


def test_training_learns_keeps_its_weights_and_goes_on(tmp_path):
    options = ["--submission", str(ROOT / "solutions"), "--lr", "0.02"]
    code, first = trained(tmp_path, "--steps", "60", *options)
    assert code == 0, first
    assert losses(first)[-1] < losses(first)[0] - 0.3
    assert "it writes: " in first
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "weights.safetensors",
        "training.json",
    }
    code, second = trained(tmp_path, "--steps", "1", *options)
    assert code == 0, second
    assert "going on from kept/, after 60 steps, with a new optimiser" in second.replace("\n", " ")
    assert losses(second)[0] < losses(first)[0] - 0.3
    code, other = trained(tmp_path, "--steps", "1", "--length", "9", *options)
    assert code == 2, other
    assert "name another --out" in other.replace("\n", " ")


def test_unwritten_steps_are_the_solutions_and_it_is_said(tmp_path):
    submission = str(write_stubs(tmp_path / "exercises"))
    code, text = trained(tmp_path, "--steps", "1", "--submission", submission)
    assert code == 0, text
    assert "not written yet, so the solutions': step01_projections" in text


def test_cheating_decoder_has_no_mask(tmp_path):
    """The same start and the same batches: only what may be seen is another."""
    stubs = str(write_stubs(tmp_path / "exercises"))
    start = ["--steps", "20", "--lr", "0.02"]
    code, honest = trained(tmp_path, *start, "--out", "honest", "--submission", stubs)
    assert code == 0, honest
    code, cheat = trained(tmp_path, *start, "--out", "cheat", "--cheat")
    assert code == 0, cheat
    assert "without the causal mask" in cheat
    assert losses(honest)[-1] != losses(cheat)[-1]
    assert "its loss where it cannot look ahead: " in cheat
    assert "look ahead" not in honest
