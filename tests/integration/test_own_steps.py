"""A step is judged on right earlier steps, and then tried on the student's own."""

from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import SOLUTIONS, STEPS

PEEKING_MASK = """
def causal_mask(t_q, t_k=None):
    return np.tri(t_q, t_k or t_q, (t_k or t_q) - t_q + 1, dtype=bool)
"""
FIVE = {step.id: SOLUTIONS[step.id] for step in STEPS[:5]}


@pytest.fixture
def fifth(judge):
    """fifth(sources): the verdict on step 5 beside these, and the solutions of the others."""
    return lambda sources, *suite: judge("5", FIVE | sources, *suite)


def ending(**ends):
    """Return the solutions of these steps, with more code at their ends."""
    names = {name.partition("_")[0]: name for name in FIVE}
    return {names[step]: FIVE[names[step]] + end for step, end in ends.items()}


def test_right_steps_work_on_each_other(fifth):
    verdict = fifth({})
    assert (verdict.status, verdict.on_own_steps, verdict.message) == (Status.PASSED, True, "")


LEANS = """
def attention(q, k, v, mask=None, scale=1.0):
    return softmax(attention_scores(q, k), mask=mask) @ v
"""
KEYWORD = """
def softmax(scores, axis=-1, mask=None, plain=softmax):
    return plain(scores if mask is None else np.where(mask, scores, -np.inf), axis)
"""
ANY = """
import importlib
import numpy as np

def take(number, module, name):
    return getattr(importlib.import_module(f"exercises.step{number:02}_{module}"), name)

attention_scores, softmax = take(2, "scores", "attention_scores"), take(4, "softmax", "softmax")

def attention_output(weights, v):
    return weights @ v

def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    mask = np.tri(x.shape[-2], dtype=bool)
    return attention(x @ w_q, x @ w_k, x @ w_v, mask if padding is None else mask & padding)
"""


def imported(line):
    """The solution, in which that line imports step 4."""
    text = FIVE["step05_output"].splitlines()
    lines = [one for one in text if "from exercises.step04_softmax" not in one]
    return "\n".join([*lines, line]).replace("exercises.", ".")


WAYS = {
    "relatively": imported("from .step04_softmax import softmax"),
    "from the package": imported("from . import step04_softmax\nsoftmax = step04_softmax.softmax"),
    "by name": imported(
        "import importlib\n"
        "softmax = importlib.import_module('.step04_softmax', __package__).softmax"
    ),
    "by names put together": ANY,
}


@pytest.mark.parametrize("source", WAYS.values(), ids=WAYS)
def test_step_may_lean_on_an_own_keyword_however_it_imports(fifth, source):
    verdict = fifth(ending(step04=KEYWORD) | {"step05_output": source + LEANS}, "hidden")
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, True)


def test_mistake_in_an_earlier_step_costs_that_step_only(fifth):
    verdict = fifth(ending(step03=PEEKING_MASK))
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, False)
    assert verdict.points == verdict.max_points
    assert verdict.blamed == ("step03_mask",)
    assert verdict.message == (
        "It does not work yet on top of your own earlier steps: masked_self_attention. "
        "Your step 3, Masks, is to blame: with the kit's it works."
    )


def test_each_of_several_guilty_steps_is_named(fifth):
    unscaled = "\ndef attention_scores(q, k): return q @ np.swapaxes(k, -1, -2)\n"
    verdict = fifth(ending(step02=unscaled, step03=PEEKING_MASK))
    assert verdict.blamed == ("step02_scores", "step03_mask")
    told = "Your steps 2, Scaled scores; and 3, Masks are to blame, each of them."
    assert told in verdict.message


@pytest.mark.parametrize("missing", ["", "not Python (", "raise SystemExit\n"])
def test_earlier_step_that_cannot_be_imported(fifth, missing):
    verdict = fifth({"step03_mask": missing})
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, False)
    assert verdict.message == (
        "It cannot be imported on top of your own earlier steps. "
        "Your step 3, Masks, is to blame: with the kit's it works."
    )


# In a course with an assignment for each step, a step alone is no fault of the student's.
@pytest.mark.parametrize("alone", [{"step02_scores"}, {*FIVE} - {"step05_output"}])
def test_step_without_an_earlier_one_is_not_tried(judge, alone):
    verdict = judge("5", {name: text for name, text in FIVE.items() if name not in alone})
    assert (verdict.status, verdict.on_own_steps, verdict.message) == (Status.PASSED, None, "")


def test_step_without_anything_right_is_not_tried(fifth):
    useless = (
        "def attention(*a, **k): return 0\nattention_output = masked_self_attention = attention\n"
    )
    assert fifth({"step05_output": useless}).on_own_steps is None


def test_solution_of_the_step_itself_is_never_there(fifth):
    source = """
import sys
def attention_output(weights, v):
    import exercises.step05_output as mine
    found = [m for m in list(sys.modules.values()) if hasattr(m, "masked_self_attention")]
    assert found in ([], [mine]), found
    return weights @ v
"""
    assert fifth({"step05_output": source}).checks[0].status is Status.PASSED


def test_solution_that_does_not_compile_is_no_matter_to_a_step_without_it(steps, host):
    first, second = STEPS[:2]
    grader = make_grader(steps, host, "visible", 0, [second])
    grader.right[first.id] = "def linear(:\n"
    verdict = grader.step(Submission("mine", {second.id: FIVE[second.id]}), second)
    assert verdict.status is Status.PASSED


def test_later_steps_are_the_students_own(fifth):
    verdict = fifth(ending(step05="\nimport exercises.step06_loss\n"))
    assert verdict.status is Status.ERROR
    assert "step06_loss" in verdict.message


def test_step_on_an_earlier_one_that_hangs_is_not_tried(steps):
    """Each of the later steps would wait for it again."""
    hangs = ending(step02="\ndef attention_scores(q, k):\n    while True:\n        pass\n")
    sources = FIVE | hangs | {"step06_loss": SOLUTIONS["step06_loss"]}
    tried = []
    with start_host(Process(), replace(steps.limits, call_seconds=0.5)) as host:
        grader = make_grader(steps, host, "visible", 0, steps.steps[:6])
        run = grader.bench.run
        grader.bench.run = lambda one, *more: tried.append(one) or run(one, *more)
        report = grader.grade(Submission("own", sources), steps.steps[:6])
    told = {step.step: step.message for step in report.steps if step.message}
    not_tried = "It was not tried on top of your own earlier steps: "
    not_tried += "step 2, Scaled scores, is too slow."
    assert told == {"step05_output": not_tried, "step06_loss": not_tried}
    failed = [step.step for step in report.steps if step.status is not Status.PASSED]
    assert failed == ["step02_scores"]
    assert len(tried) == 6  # each by itself, none a second time


# What a student shares between steps of their own.

HELPER = "\n\ndef lower_triangle(t):\n    return np.tri(t, dtype=bool)\n"
SHARED = """

def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    mask = lower_triangle(x.shape[-2])
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, mask if padding is None else mask & padding)
"""


@pytest.mark.parametrize(
    "imported",
    [
        "from exercises.step03_mask import lower_triangle",
        "from exercises.step03_mask import *",
        "import exercises.step03_mask as masks\nlower_triangle = masks.lower_triangle",
    ],
)
def test_helper_of_an_earlier_step_is_the_students_own(fifth, imported):
    verdict = fifth(ending(step03=HELPER, step05=f"\n{imported}{SHARED}"))
    assert (verdict.status, verdict.on_own_steps, verdict.message) == (Status.PASSED, True, "")


def test_functions_of_an_earlier_step_are_right_beside_the_students_helper(fifth):
    uses = "\nfrom exercises.step03_mask import lower_triangle, causal_mask\n"
    uses += "assert lower_triangle(3).tolist() == causal_mask(3).tolist()\n"
    verdict = fifth(ending(step03=PEEKING_MASK + HELPER, step05=uses))
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, False)


def test_helper_with_the_name_of_one_in_the_kit_is_the_students(fifth, monkeypatch):
    right = FIVE | ending(step03="\nhelped = 'the kit'\n")
    monkeypatch.setattr("grader.engine.grading.solutions", lambda registry: right)
    uses = "\nfrom exercises.step03_mask import helped\nassert helped == 'mine'\n"
    verdict = fifth(ending(step03="\nhelped = 'mine'\n", step05=uses))
    assert verdict.status is Status.PASSED


@pytest.mark.parametrize("own", [None, "not Python (", "raise SystemExit\n", ""])
def test_helper_that_is_not_there_is_told(judge, own):
    sources = FIVE | {"step05_output": "from exercises.step03_mask import helped\n"}
    del sources["step03_mask"]
    verdict = judge("5", sources if own is None else {**sources, "step03_mask": own})
    assert verdict.status is Status.ERROR
    assert "cannot import name 'helped' from 'exercises.step03_mask'" in verdict.message
