"""The solutions train as torch does: the same start, the same batches, the same losses."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from grader.answer_key import reference
from grader.steps.inputs import Draw
from tests.conftest import ROOT, STEPS
from tests.visible import decoders

STEPS_TAKEN, LENGTH, VOCABULARY, N_HEADS = 50, 12, 11, 2
SIZES = {"n_layers": 2, "n_heads": N_HEADS, "d_head": 4, "d_ff": 16}
RATES = tuple(0.003 * min(1.0, (step + 1) / 10) for step in range(STEPS_TAKEN))
PROGRAM = """
import json, pickle, sys
from exercises.step19_training import new_adamw, train_step
batches, params, n_heads, rates = pickle.load(open(sys.argv[1], "rb"))
state, losses = new_adamw(params), []
for tokens, lr in zip(batches, rates):
    loss, params, state = train_step(tokens, params, state, n_heads, lr)
    losses.append(loss)
print(json.dumps(losses))
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder in which the solutions are called exercises."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "exercises").mkdir()
    for step in STEPS:
        text = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        (folder / "exercises" / step.filename).write_text(text, encoding="utf-8")
    return folder


def test_first_fifty_losses_are_those_of_torch(course):
    draw = Draw("fifty steps")
    params = decoders.decoder(draw, vocabulary=VOCABULARY, t_max=LENGTH, **SIZES)
    batches = tuple(draw.tokens(VOCABULARY, 4, LENGTH + 1) for _ in RATES)
    (course / "question").write_bytes(pickle.dumps((batches, params, N_HEADS, RATES)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "question"],
        cwd=course,
        env={**os.environ, "PYTHONPATH": str(course)},
        capture_output=True,
        check=True,
        text=True,
    )
    losses = np.array(json.loads(done.stdout))
    expected = np.array([loss for loss, _ in reference.train_run(batches, params, N_HEADS, RATES)])
    assert losses.shape == (STEPS_TAKEN,)
    assert np.abs(losses - expected).max() < 1e-9
    assert expected[-5:].mean() < expected[:5].mean()
