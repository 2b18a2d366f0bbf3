"""A law pays only if what it asked was answered rightly: the first answer, and one by lot."""

from itertools import product

import pytest

from grader.intake.submission import Submission
from grader.steps import registry
from tests.conftest import SOLUTIONS, with_needed

ZEROS_FOR_BATCHES = """

def _wrapped(right):
    def function(*args, **kwargs):
        result = right(*args, **kwargs)
        first = args[0]
        if first.ndim > (1 if first.dtype.kind in "iu" else 2):
            return tuple(map(np.zeros_like, result)) if type(result) is tuple else result * 0
        return result
    return function

"""
REMEMBERS = """

def _wrapped(right):
    found = {{}}
    def function(*args, **kwargs):
        result, key = right(*args, **kwargs), repr([getattr(one, "shape", one) for one in args])
        count, first = found.get(key, (0, result))
        found[key] = count + 1, first
        return {}
    return function

"""
FROM_MEMORY = REMEMBERS.format("first")
# Probes are told from other inputs by their size, and by how often such arrays have come.
FROM_MEMORY_WHERE_LARGE = REMEMBERS.format("first if np.abs(args[0]).max() > 30 else result")
RIGHT_TWICE = REMEMBERS.format("result if count < 2 else first")
CHEATS = [
    (ZEROS_FOR_BATCHES, "step02_scores", "attention_scores", "scores_rows"),
    (ZEROS_FOR_BATCHES, "step05_output", "attention", "attention_rows"),
    (ZEROS_FOR_BATCHES, "step09_heads", "multi_head_attention", "heads_rows"),
    (FROM_MEMORY, "step05_output", "attention", "attention_no_future"),
    (FROM_MEMORY, "step06_loss", "next_token_logits", "logits_no_future"),
]
# These recognise a probe of the hidden suite.
HIDDEN = [
    (FROM_MEMORY_WHERE_LARGE, "step09_heads", "multi_head_attention", "heads_rows"),
    (FROM_MEMORY_WHERE_LARGE, "step09_heads", "multi_head_attention", "heads_no_future"),
    (FROM_MEMORY_WHERE_LARGE, "step25_llama", "rms_norm", "rms_no_future"),
    (FROM_MEMORY_WHERE_LARGE, "step25_llama", "swiglu", "swiglu_no_future"),
    (RIGHT_TWICE, "step06_loss", "next_token_logits", "logits_no_future"),
    (RIGHT_TWICE, "step22_more_masks", "document_mask", "documents_no_future"),
]
TRIED = [*product(("visible", "hidden"), CHEATS), *product(["hidden"], HIDDEN)]


@pytest.mark.long
@pytest.mark.parametrize(("suite", "cheat"), TRIED)
def test_law_pays_nothing_for_wrong_values(judge, suite, cheat):
    wrapper, step, function, check = cheat
    source = SOLUTIONS[step] + wrapper + f"{function} = _wrapped({function})\n"
    points = {one.check: one.points for one in judge(step, source, suite).checks}
    assert points[check] == 0


EXACTLY_ARRAYS = """

def _wrapped(right):
    def function(*args, **kwargs):
        params = next(one for one in args if isinstance(one, dict) and "embedding" in one)
        weights = params.get("blocks", [{"attention": params}])[0]["attention"]
        if type(weights["w_q"]) is not np.ndarray:
            raise TypeError("not an array")
        return right(*args, **kwargs)
    return function

"""
BY_WORK = [
    ("step06_loss", "teacher_forced_loss", "loss_one_pass"),
    ("step25_llama", "llama_step", "llama_step_new_only"),
]


@pytest.mark.parametrize(("step", "function", "check"), BY_WORK)
def test_law_of_work_lets_code_want_exactly_numpys_type(grade, step, function, check):
    whole = registry.load().find(step)
    chosen = whole.narrow_to(with_needed(whole, check))
    source = SOLUTIONS[step] + EXACTLY_ARRAYS + f"{function} = _wrapped({function})\n"
    report = grade(Submission("typed", {step: source}), "hidden", (chosen,))
    assert [one.status.value for one in report.steps[0].checks] == ["passed", "passed"]
