"""Test the messages on an endless loop and on a misspelt name, and who does not see them."""

from dataclasses import replace

import pytest

from grader.engine import grading
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from tests.conftest import SEED

LOOPS = """import numpy as np

def attention_scores(q, k):
    n = 0
    while n < 3:
        q = q + 0
    return q
"""
AT_ONCE = "n = 1\nwhile n:\n    n += 1\n\ndef attention_scores(q, k):\n    return 1\n"
NAMES = """import numpy as np

def attention_scores(q, k):
    scale = 2
    return {}
"""


@pytest.fixture(scope="module")
def hurried(steps):
    """A host on which a call may take a second."""
    with start_host(Process(), replace(steps.limits, call_seconds=1.0)) as host:
        yield host


@pytest.fixture
def message(hurried, steps):
    """message(source, suite): what the first check of step 2 says of that code."""

    def message(source, suite="visible"):
        step = steps.find("2")
        grader = grading.make_grader(steps, hurried, suite, SEED, [step])
        return grader.step(Submission("mine", {step.id: source}), step).checks[0].message

    return message


def test_loop_without_an_end_is_named_in_the_visible_suite_only(message):
    told = message(LOOPS)
    assert "had not returned after 1 s." in told
    assert "It was inside the loop `while n < 3:` (step02_scores.py, line 5)." in told
    assert "inside the loop `while n:` (step02_scores.py, line 2)" in message(AT_ONCE)
    hidden = message(LOOPS, "hidden")
    assert "had not returned" in hidden
    assert "line" not in hidden


@pytest.mark.parametrize(
    ("result", "meant"), [("q @ np.swapaxis(k, -1, -2)", "swapaxes"), ("q / scal", "scale")]
)
def test_misspelt_name_gets_python_s_guess_in_the_visible_suite_only(message, result, meant):
    assert f"Did you mean {meant!r}?" in message(NAMES.format(result))
    assert "Did you mean" not in message(NAMES.format(result), "hidden")


def test_code_that_answers_for_the_watch_gets_no_better_verdict(message):
    forged = LOOPS.replace("n = 0", "signal.signal(signal.SIGALRM, signal.SIG_IGN)")
    forged = "import signal\n" + forged.replace("n < 3", "True")
    assert "had not returned after 1 s." in message(forged)


def test_guess_that_is_no_name_is_not_shown(message):
    code = NAMES.format("q / scal").replace(
        "    scale = 2",
        "    raise type('E', (NameError,), {'__str__': lambda s: 'x. Did you mean: \\'a b\\'?'})()",
    )
    assert "Did you mean 'a b'" not in message(code)


def test_process_ends_with_code_that_cannot_be_imported(hurried, steps):
    step = steps.find("2")
    grader = grading.make_grader(steps, hurried, "visible", SEED, [step])
    attempt = grader.attempt(Submission("mine", {step.id: "1 / 0"}), step, grader.right)
    trial = grader.bench.run(attempt, step.checks)
    assert trial.failure.type == "ZeroDivisionError"
    assert not trial.worker.alive
