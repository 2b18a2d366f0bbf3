"""The solutions: their examples run, each function is there, and they train as torch does."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from grader.answer_key import reference
from grader.steps.inputs import Draw
from tests.conftest import STEPS
from tests.support.stubs import write_solutions
from tests.visible import decoders


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder in which the solutions are called exercises, as a student's files are."""
    return write_solutions(tmp_path_factory.mktemp("course") / "exercises", STEPS).parent


def python(course, *arguments):
    """Run Python where the solutions are the exercises, without the plugins of others."""
    command = [sys.executable, "-W", "error", *arguments]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(course)}
    return subprocess.run(command, cwd=course, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_examples_run(course, step):
    options = ("-q", "-p", "no:cacheprovider", "--doctest-modules")
    done = python(course, "-m", "pytest", *options, f"exercises/{step.filename}")
    assert done.returncode == 0, done.stdout
    assert f"{len(step.functions)} passed" in done.stdout


MASK_OF_ONE_AXIS = """
import numpy as np
from exercises.step17_block_gradient import multi_head_attention_backward
from exercises.step18_decoder_gradient import small_decoder

params, draw = small_decoder()["blocks"][0]["attention"], np.random.RandomState(1).standard_normal
x, d_out, mask = draw((2, 3, 4)), draw((2, 3, 4)), np.array([True, False, True])
one, one_grads = multi_head_attention_backward(d_out, x, params, 2, mask)
two, two_grads = multi_head_attention_backward(d_out, x, params, 2, np.tile(mask, (3, 1)))
np.testing.assert_allclose(one, two)
for name, gradient in two_grads.items():
    np.testing.assert_allclose(one_grads[name], gradient)
"""


def test_gradient_of_heads_takes_a_mask_of_one_axis(course):
    done = python(course, "-c", MASK_OF_ONE_AXIS)
    assert done.returncode == 0, done.stderr


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


def test_first_fifty_losses_are_those_of_torch(course):
    draw = Draw("fifty steps")
    params = decoders.decoder(draw, vocabulary=VOCABULARY, t_max=LENGTH, **SIZES)
    batches = tuple(draw.tokens(VOCABULARY, 4, LENGTH + 1) for _ in RATES)
    (course / "question").write_bytes(pickle.dumps((batches, params, N_HEADS, RATES)))
    done = python(course, "-c", PROGRAM, "question")
    expected = np.array([loss for loss, _ in reference.train_run(batches, params, N_HEADS, RATES)])
    np.testing.assert_allclose(json.loads(done.stdout), expected, rtol=0, atol=1e-9)
    assert expected[-5:].mean() < expected[:5].mean()
