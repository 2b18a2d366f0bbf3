"""Writing text as a function of the random numbers: the new tokens alone, one for each number."""

import numpy as np
import pytest

from grader.checks.laws import continued
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer
from tests.conftest import STEPS

GENERATE = next(step for step in STEPS if step.number == 8).function("generate")
PROMPT, U = np.array([[4, 5]]), np.array([[0.25, 1.5, -0.25]])


def continuing(generate):
    """A worker that calls this function instead of a student's."""
    return continued(
        StudentFunction(GENERATE, lambda name, args, kwargs, **_: Answer(generate(*args, **kwargs)))
    )


def counted(prompt, n_new, params, u):
    """100 times each number behind the prompt, if there are as many as were asked for."""
    assert u.shape[-1] == n_new
    return np.concatenate([prompt, (100 * u).astype(int)], axis=-1)


def test_continuation_has_a_new_token_for_each_number():
    asked = {"prompt": PROMPT, "n_new": 7, "params": {}}
    assert continuing(counted)(**asked, u=U).tolist() == [[25, 50, 75]]
    assert continuing(counted)(**asked, u=U[:, :1]).tolist() == [[25]]
    assert continuing(counted).name == "generate"


OTHER_PROMPT = np.array([[4, 6, 25, 50, 75]])


@pytest.mark.parametrize("value", [None, np.zeros((1, 4), int), np.zeros(5, int), OTHER_PROMPT])
def test_what_is_no_continuation_is_left_as_it_is(value):
    got = continuing(lambda *_, **__: value)(prompt=PROMPT, n_new=3, params={}, u=U)
    assert got is value
