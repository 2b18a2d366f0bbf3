"""A step that works on the student's own earlier steps has passed, even if it fails on ours."""

import math
import time
from dataclasses import replace

import pytest

from grader.engine import grading
from grader.engine.bench import Trial
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.report.records import Status
from tests.conftest import SOLUTIONS, STEPS
from tests.integration import test_own_steps as own_steps


def solution(number, *more):
    """The solution of the step of that number, and what follows it."""
    return "".join([SOLUTIONS[STEPS[number - 1].id], *more])


CACHE = '''
import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class Cache(list):
    """Pairs of keys and values, one for each call."""


def new_cache():
    return Cache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache.append((k, v))
    k = np.concatenate([one for one, _ in cache], axis=-2)
    v = np.concatenate([one for _, one in cache], axis=-2)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache
'''
OF_OWN_CACHE = """
_attend = attend_with_cache

def attend_with_cache(x_new, cache, *weights):
    calls = len(cache)
    y, cache = _attend(x_new, cache, *weights)
    assert len(cache) == calls + 1
    return y, cache
"""
OF_TOKENS = CACHE.replace(
    'one for each call."""',
    'one for each call; len counts the tokens."""\n\n'
    "    def __len__(self):\n        return sum(k.shape[-2] for k, _ in self)",
)
UNTIL_FULL = """
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t, total = prompt.shape[-1], prompt.shape[-1] + n_new
    if total > len(params["position"]) or temperature > 0 and u is None:
        raise ValueError
    tokens, new, cache = prompt, prompt, new_cache()
    while len(cache) < total - 1 and n_new:  # which is 2 for ever if the cache is the kit's dict
        x = params["embedding"][new] + params["position"][len(cache) :][: new.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        u_now = None if u is None else u[..., len(cache) - t]
        token = sample_token(y[..., -1, :] @ params["w_out"], u_now, temperature, top_k)
        new = np.asarray(token)[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens
"""
HANGS_WHERE_K_IS_V = """
_sample = sample_token

def sample_token(logits, u, temperature=1.0, top_k=None):
    while top_k == logits.shape[-1]:
        pass
    return _sample(logits, u, temperature, top_k)
"""
WITHOUT_TOP_K = """
_sample = sample_token

def sample_token(logits, u, temperature=1.0, top_k=None):
    return _sample(logits, u, temperature)
"""
WITH_KEYWORD = """
import numpy as np

def softmax(scores, axis=-1, scale=1.0):
    scores = scores * scale
    top = np.max(scores, axis=axis, keepdims=True)
    shifted = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = shifted.sum(axis=axis, keepdims=True)
    return shifted / np.where(total == 0, 1, total)
"""
HANGS = "\n\ndef {}(*args, **kwargs):\n    while True:\n        pass\n"
HELPERS = "import numpy as np" + own_steps.HELPER
SHARED = f"\nfrom exercises.helpers import lower_triangle\n{own_steps.SHARED}"
KEYED = solution(5).replace("softmax(scores)", "softmax(scores, scale=1.0)")
OF_OWN_CLASS = """
from exercises.step07_kv_cache import Cache
_attend = attend_with_cache

def attend_with_cache(x_new, cache, *weights):
    assert isinstance(cache, Cache)  # which the kit has, too
    return _attend(x_new, cache, *weights)
"""
DECODER_OF_OWN_CACHE = """
from exercises.step07_kv_cache import new_cache
_made = new_decoder_cache

def new_decoder_cache(n_layers):
    assert new_cache().copy() == []
    return _made(n_layers)
"""
OWN_SOFTMAX = """
from exercises.step04_softmax import softmax as _mine

def softmax(scores):
    return _mine(scores, scale=1.0)
"""
OWN_MASK = """
from exercises.step03_mask import causal_mask

def lower_triangle(t):
    return causal_mask(t)
"""
WRONG_MASK = "\ndef causal_mask(t_q, t_k=None):\n    return np.ones((t_q, t_k or t_q), bool)\n"


def sources(last, changes=None):
    """The solutions of the first steps, and other texts of some."""
    right = {step.id: solution(step.number) for step in STEPS[:last]}
    return right | {STEPS[number - 1].id: text for number, text in (changes or {}).items()}


# The step, suite, how many solutions there are, other texts, modules, and the word on own steps.
CACHES, IN_MODULE = {7: CACHE, 8: solution(8, OF_OWN_CACHE)}, {5: solution(5, SHARED)}
IN_DECODER = solution(13, DECODER_OF_OWN_CACHE)
BY_MODULE = {4: WITH_KEYWORD, 5: solution(5) + "\nfrom exercises.helpers import softmax\n"}
AT_IMPORT = {4: WITH_KEYWORD, 5: solution(5) + "\n_TRIED = softmax(np.zeros(2), scale=2.0)\n"}
COUNTS = {
    "length of a cache": (8, "visible", 8, CACHES, {}, True),
    "cache among the kit's steps": (8, "visible", 0, CACHES, {}, None),
    "cache among own steps": (8, "visible", 6, CACHES, {}, True),
    "cache in the decoder": (13, "hidden", 0, {7: CACHE, 13: IN_DECODER}, {}, None),
    "class": (8, "visible", 8, {7: CACHE, 8: solution(8, OF_OWN_CLASS)}, {}, True),
    "keyword": (5, "hidden", 5, {4: WITH_KEYWORD, 5: KEYED}, {}, True),
    "keyword at import": (5, "visible", 5, AT_IMPORT, {}, True),
    "keyword in a module": (5, "visible", 5, BY_MODULE, {"helpers": OWN_SOFTMAX}, True),
    "module": (5, "visible", 5, IN_MODULE, {"helpers": HELPERS}, True),
    "module, hidden": (5, "hidden", 5, IN_MODULE, {"helpers": HELPERS}, True),
    "module on a right step": (
        *(5, "visible", 5, IN_MODULE | {3: solution(3) + WRONG_MASK}),
        *({"helpers": OWN_MASK}, False),
    ),
}


@pytest.mark.parametrize(
    ("number", "suite", "last", "changes", "modules", "on_own"), COUNTS.values(), ids=COUNTS
)
def test_what_works_on_ones_own_steps_counts(judge, number, suite, last, changes, modules, on_own):
    verdict = judge(str(number), sources(last, changes), suite, modules=modules)
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, on_own)
    assert verdict.message == "" or on_own is False


@pytest.mark.parametrize("earlier", [range(1, 9), (7, 8)])
def test_loop_that_ends_when_ones_own_cache_is_full(judge, monkeypatch, host, earlier):
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=1.0))
    mine = {STEPS[number - 1].id: solution(number) for number in earlier}
    mine |= {"step07_kv_cache": OF_TOKENS, "step08_generation": solution(8, UNTIL_FULL)}
    verdict = judge("8", mine)
    assert (verdict.status, verdict.message) == (Status.PASSED, "")


ANOTHER = """
_attend = attention

def attention(q, k, v, mask=None, scale=1.0):
    return _attend(q, k, v, mask)
"""


def scaled(by):
    """Step 9, which calls its own attention with a keyword."""
    return solution(9).replace("attention(q, k, v, mask)", f"attention(q, k, v, mask, {by})")


# Other texts, the steps to judge, and the checks of the last that fail.
WITHOUT_OUTPUT = solution(5).replace("attention_output(", "_weigh(")
IF_MASKED = "**({} if mask is None else {'scale': 1.0 / (mask.ndim > 1)})"
OF_CACHE = {7: OF_TOKENS, 8: solution(8, UNTIL_FULL, HANGS_WHERE_K_IS_V)}
HANGING = {
    "beside one that hangs": (OF_CACHE, [8], ["sampling_top_k"]),
    "above a step in which another hangs": (
        OF_CACHE | {3: solution(3) + HANGS.format("padding_mask")},
        *([3, 7, 8], ["sampling_top_k"]),
    ),
    "keyword of a step in which another hangs": (
        {5: WITHOUT_OUTPUT + HANGS.format("attention_output") + ANOTHER, 9: scaled("scale=1.0")},
        *([5, 9], []),
    ),
    # The first one that fails on the kit's steps may fail for a reason of its own.
    "all checks are tried": (
        {5: solution(5) + HANGS.format("masked_self_attention") + ANOTHER, 9: scaled(IF_MASKED)},
        *([5, 9], ["heads_mask"]),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(("changes", "numbers", "wanted"), HANGING.values(), ids=HANGING)
@pytest.mark.usefixtures("short")
def test_what_needs_ones_own_steps_counts_although_something_hangs(
    grade, steps, changes, numbers, wanted
):
    chosen = tuple(steps.find(str(number)) for number in numbers)
    *_, last = grade(Submission("own", sources(numbers[-1], changes)), "visible", chosen).steps
    assert [one.check for one in last.checks if one.status is not Status.PASSED] == wanted


@pytest.fixture
def hung(monkeypatch):
    """The checks that have hung."""
    found = []

    def judge(self, check, judge=Trial._judge):
        verdict = judge(self, check)
        found.extend([check] * (verdict.status is Status.TIMEOUT))
        return verdict

    monkeypatch.setattr(Trial, "_judge", judge)
    return found


@pytest.mark.long
def test_loop_that_never_ends_costs_a_submission_one_call_more(judge, monkeypatch, host, hung):
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=1.0))
    mine = sources(8, {8: solution(8, HANGS.format("generate"))})
    host.deadline = before = time.monotonic() + 60
    verdict = judge("8", mine)
    assert hung == [hung[0]] * 2
    assert host.deadline - before > 0.9  # which is given back
    host.deadline = math.inf
    assert {one.status for one in verdict.checks} == {Status.PASSED, Status.TIMEOUT}


def test_part_of_a_step_that_leans_on_ones_own_cache_says_so(judge):
    mine = sources(8, {7: CACHE, 8: solution(8, OF_OWN_CACHE, WITHOUT_TOP_K)})
    verdict = judge("8", mine)
    assert verdict.status is Status.FAILED
    assert verdict.message.startswith("It counts as it works on top of your own earlier steps. ")


def leaning(scale):
    """Return five steps: step 5 calls its own softmax with a keyword, and the mask is wrong."""
    scaled = solution(5).replace("softmax(scores)", f"softmax(scores, {scale=})")
    return sources(5, {3: solution(3, WRONG_MASK), 4: WITH_KEYWORD, 5: scaled})


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_keyword_of_ones_own_softmax_beside_a_wrong_mask(judge, suite):
    """What works on all of one's own steps together counts; the mask is not among that."""
    verdict = judge("5", leaning(1.0), suite)
    passed = {one.function for one in verdict.checks if one.status is Status.PASSED}
    assert passed == {"attention_output", "attention"}
    assert verdict.on_own_steps is True
    assert verdict.message.startswith("It counts as it works on top of your own earlier steps. ")


HANGING_SOFTMAX = {4: solution(4, HANGS.format("softmax"))}


@pytest.fixture
def short(host, monkeypatch):
    """Let each call take at most two seconds, which is enough for every call that ends."""
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=2.0))
    monkeypatch.setattr(host, "deadline", time.monotonic() + 240)


@pytest.mark.long
def test_trials_on_own_steps_that_hang_take_no_time_from_later_steps(grade, short, host, steps):
    """Each of these steps is right. On top of the student's own softmax they hang."""
    mine = sources(10, HANGING_SOFTMAX) | {"step15_gradients": solution(15)}
    deadline = host.deadline
    chosen = tuple(steps.find(str(number)) for number in (5, 9, 10, 15))
    judged = grade(Submission("own", mine), "hidden", chosen).steps
    assert {one.status for one in judged} == {Status.PASSED}
    assert [one.on_own_steps for one in judged] == [False] * 4
    assert judged[-1].message.endswith("step 4, Softmax, is too slow.")
    assert host.deadline > deadline


@pytest.mark.long
def test_trials_take_no_time_of_a_submission_up_to_a_limit(host, short, monkeypatch, steps):
    monkeypatch.setattr(grading, "TRIALS", 6.0)
    mine, chosen = sources(10, HANGING_SOFTMAX), (steps.find("5"),)
    grader = make_grader(steps, host, "hidden", 1, chosen)
    deadline = host.deadline
    (verdict,) = grader.grade(Submission("own", mine), chosen).steps
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, None)  # nothing is said
    assert host.deadline - deadline == pytest.approx(6.0 - grader.trials)
    assert 2.0 < host.deadline - deadline <= 6.0


WRONG_SOFTMAX = WITH_KEYWORD.replace("scores * scale", "scores * scale + np.pi * scores")
WRONG = {
    "step 5": leaning(2.0),
    "step 5 alone": leaning(2.0) | {"step03_mask": solution(3)},
    "step 4": leaning(1.0) | {"step04_softmax": WRONG_SOFTMAX},
}


@pytest.mark.parametrize("mine", WRONG.values(), ids=WRONG)
def test_wrong_step_earns_no_more(judge, mine):
    verdict = judge("5", mine, "hidden")
    assert verdict.status is Status.FAILED
    assert "It counts" not in verdict.message


def test_wrong_earlier_step_cannot_make_a_wrong_one_right(judge):
    """A mistake here, undone there, is right on their own steps and earns its points there."""
    wrong = "\n_right = softmax\ndef softmax(scores, axis=-1):\n    return -_right(scores, axis)\n"
    undone = solution(5).replace("softmax(scores)", "-softmax(scores)")
    mine = sources(5, {4: solution(4, wrong), 5: undone})
    assert judge("4", mine).status is Status.FAILED
    assert judge("5", mine).status is Status.PASSED


def test_solution_of_the_step_is_not_there_on_ones_own_steps_either(judge):
    finds = (
        "import sys\nfrom exercises.step04_softmax import softmax\n"
        "def attention_output(weights, v):\n"
        "    import exercises.step05_output as me\n"
        "    modules = list(sys.modules.values())\n"
        "    found = [m for m in modules if hasattr(m, 'masked_self_attention')]\n"
        "    return found[0].attention_output(weights, v) if found not in ([], [me]) else v\n"
    )
    assert judge("5", sources(5, {5: finds})).status is Status.FAILED


def test_broken_module_of_ones_own_costs_the_step(judge):
    verdict = judge("5", sources(5, IN_MODULE), modules={"helpers": "def ("})
    assert verdict.status is Status.ERROR
    assert "exercises/helpers.py, line 1" in verdict.message
