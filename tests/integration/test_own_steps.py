"""A step is judged on right earlier steps, and then tried on the student's own."""

from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import ROOT, STEPS

PEEKING_MASK = (
    "\ndef causal_mask(t_q, t_k=None):\n"
    "    return np.tril(np.ones((t_q, t_k or t_q), bool), k=(t_k or t_q) - t_q + 1)\n"
)


def solutions():
    return {
        step.id: (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        for step in STEPS[:5]
    }


@pytest.fixture
def fifth(grade, steps):
    """fifth(sources): the verdict on step 5."""

    def judge(sources):
        (verdict,) = grade(Submission("own", sources), "visible", (steps.find("5"),)).steps
        return verdict

    return judge


def test_right_steps_work_on_each_other(fifth):
    verdict = fifth(solutions())
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
    text = solutions()["step05_output"]
    lines = [one for one in text.splitlines() if "from exercises.step04_softmax" not in one]
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
def test_step_may_lean_on_an_own_keyword_however_it_imports(grade, steps, source):
    sources = solutions() | {"step05_output": source + LEANS}
    sources["step04_softmax"] += KEYWORD
    (verdict,) = grade(Submission("own", sources), "hidden", (steps.find("5"),)).steps
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, True)


def test_mistake_in_an_earlier_step_costs_that_step_only(fifth):
    sources = solutions()
    sources["step03_mask"] += PEEKING_MASK
    verdict = fifth(sources)
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, False)
    assert verdict.points == verdict.max_points
    assert verdict.blamed == ("step03_mask",)
    assert verdict.message == (
        "It does not work yet on top of your own earlier steps: masked_self_attention. "
        "Your step 3, Masks, is to blame: with the kit's it works."
    )


def test_each_of_several_guilty_steps_is_named(fifth):
    sources = solutions()
    sources["step03_mask"] += PEEKING_MASK
    sources["step02_scores"] += "\ndef attention_scores(q, k): return q @ np.swapaxes(k, -1, -2)\n"
    verdict = fifth(sources)
    assert verdict.blamed == ("step02_scores", "step03_mask")
    assert (
        "Your steps 2, Scaled scores; and 3, Masks are to blame, each of them." in verdict.message
    )


@pytest.mark.parametrize("missing", ["", "not Python (", "raise SystemExit\n"])
def test_earlier_step_that_cannot_be_imported(fifth, missing):
    verdict = fifth(solutions() | {"step03_mask": missing})
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, False)
    assert verdict.message == (
        "It cannot be imported on top of your own earlier steps. "
        "Your step 3, Masks, is to blame: with the kit's it works."
    )


# In a course with an assignment for each step, a step alone is no fault of the student's.
@pytest.mark.parametrize("alone", [{"step02_scores"}, {*solutions()} - {"step05_output"}])
def test_step_without_an_earlier_one_is_not_tried(fifth, alone):
    verdict = fifth({name: text for name, text in solutions().items() if name not in alone})
    assert (verdict.status, verdict.on_own_steps, verdict.message) == (Status.PASSED, None, "")


def test_step_without_anything_right_is_not_tried(fifth):
    functions = ("attention_output", "attention", "masked_self_attention")
    useless = "".join(f"def {name}(*a, **k): return 0\n" for name in functions)
    assert fifth(solutions() | {"step05_output": useless}).on_own_steps is None


def test_solution_of_the_step_itself_is_never_there(fifth):
    sources = solutions()
    sources["step05_output"] = (
        "import sys\n"
        "def attention_output(weights, v):\n"
        "    import exercises.step05_output as mine\n"
        "    name = 'masked_self_attention'\n"
        "    found = [m for m in list(sys.modules.values()) if hasattr(m, name)]\n"
        "    assert found in ([], [mine]), found\n"
        "    return weights @ v\n"
    )
    assert fifth(sources).checks[0].status is Status.PASSED


def test_later_steps_are_the_students_own(fifth):
    sources = solutions()
    sources["step05_output"] += "\nimport exercises.step06_loss\n"
    verdict = fifth(sources)
    assert verdict.status is Status.ERROR
    assert "step06_loss" in verdict.message


def test_step_on_an_earlier_one_that_hangs_is_not_tried(steps):
    """Each of the later steps would wait for it again."""
    sources = solutions()
    sources["step02_scores"] += "\ndef attention_scores(q, k):\n    while True:\n        pass\n"
    sources["step06_loss"] = (ROOT / "solutions" / "step06_loss.py").read_text(encoding="utf-8")
    tried = []

    def work(grader):
        run = grader.bench.run
        grader.bench.run = lambda one, *more: tried.append(one) or run(one, *more)
        return grader.grade(Submission("own", sources), steps.steps[:6])

    limits = replace(steps.limits, call_seconds=0.5)
    with start_host(Process(), limits) as host:
        report = work(make_grader(steps, host, "visible", 0, steps.steps[:6]))
    told = {step.step: step.message for step in report.steps if step.message}
    not_tried = "It was not tried on top of your own earlier steps"
    assert told == {
        "step05_output": f"{not_tried}: step 2, Scaled scores, is too slow.",
        "step06_loss": f"{not_tried}: step 2, Scaled scores, is too slow.",
    }
    assert {step.step for step in report.steps if step.status is not Status.PASSED} == {
        "step02_scores"
    }
    assert len(tried) == 6  # each by itself, none a second time


# What a student shares between steps of their own.

HELPER = "\n\ndef lower_triangle(t):\n    return np.tri(t, dtype=bool)\n"
SHARED = """
from exercises.step03_mask import lower_triangle

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
        "from exercises import step03_mask\nlower_triangle = step03_mask.lower_triangle",
        "import exercises.step03_mask as masks\nlower_triangle = masks.lower_triangle",
    ],
)
def test_helper_of_an_earlier_step_is_the_students_own(fifth, imported):
    sources = solutions()
    sources["step03_mask"] += HELPER
    sources["step05_output"] += SHARED.replace(SHARED.strip().split("\n")[0], imported)
    verdict = fifth(sources)
    assert (verdict.status, verdict.on_own_steps, verdict.message) == (Status.PASSED, True, "")


def test_functions_of_an_earlier_step_are_right_beside_the_students_helper(fifth):
    sources = solutions()
    sources["step03_mask"] += PEEKING_MASK + HELPER
    sources["step05_output"] += (
        "\nfrom exercises.step03_mask import lower_triangle, causal_mask\n"
        "assert lower_triangle(3).tolist() == causal_mask(3).tolist()\n"
    )
    verdict = fifth(sources)
    assert verdict.status is Status.PASSED
    assert verdict.on_own_steps is False


def test_helper_with_the_name_of_one_in_the_kit_is_the_students(fifth, monkeypatch):
    right = solutions() | {"step03_mask": solutions()["step03_mask"] + "\nhelped = 'the kit'\n"}
    monkeypatch.setattr("grader.engine.grading.solutions", lambda registry: right)
    sources = solutions()
    sources["step03_mask"] += "\nhelped = 'mine'\n"
    sources["step05_output"] += (
        "\nfrom exercises.step03_mask import helped\nassert helped == 'mine'\n"
    )
    assert fifth(sources).status is Status.PASSED


@pytest.mark.parametrize("own", [None, "not Python (", "raise SystemExit\n", ""])
def test_helper_that_is_not_there_is_told(fifth, own):
    sources = solutions()
    sources["step05_output"] = "from exercises.step03_mask import helped\n"
    if own is None:
        del sources["step03_mask"]
    else:
        sources["step03_mask"] = own
    verdict = fifth(sources)
    assert verdict.status is Status.ERROR
    assert "cannot import name 'helped' from 'exercises.step03_mask'" in verdict.message
