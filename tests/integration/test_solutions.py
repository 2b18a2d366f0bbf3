"""The solutions as texts: their examples run, and every function of the registry is there."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, STEPS


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder in which the solutions are called exercises, as a student's files are."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "exercises").mkdir()
    for step in STEPS:
        text = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        (folder / "exercises" / step.filename).write_text(text, encoding="utf-8")
    return folder


# No doctest needs the plugins of others that happen to be installed; they take half a second.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_examples_run(course, step):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--doctest-modules", f"exercises/{step.filename}"],
        cwd=course,
        env={**os.environ, **ALONE, "PYTHONPATH": str(course)},
        capture_output=True,
        text=True,
    )
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
    command = [sys.executable, "-W", "error", "-c", MASK_OF_ONE_AXIS]
    environment = {**os.environ, "PYTHONPATH": str(course)}
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
