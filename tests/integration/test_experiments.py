"""Test the facts from further calls: true, and only if they could be otherwise."""

from dataclasses import replace

import pytest

from grader.diagnosis.properties.experiments import Subject, find_idle, find_state, try_all_cases
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from tests.conftest import SEED, SOLUTIONS

NO_BIASES = """
def multi_head_attention(x, params, n_heads, mask=None):
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(x @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(x @ params["w_v"], n_heads)
    mask = None if mask is None or np.ndim(mask) < 3 else mask[..., None, :, :]
    return merge_heads(attention(q, k, v, mask)) @ params["w_o"]
"""
RIGHT_AT_FIRST = """
_calls = []
_right_softmax = softmax
def softmax(scores, axis=-1):
    _calls.append(axis)
    return _right_softmax(scores * len(_calls), axis)
"""
OTHER_SQUARES = """
def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    t, m, v = state
    t, (beta_1, beta_2) = t + 1, betas
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: {} * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        root = {}
        return (1 - lr * weight_decay) * p - lr * mean / (1 - beta_1**t) / root

    return map_tree(moved, params, m, v), (t, m, v)
"""
TINY_TOTAL = """
def softmax(scores, axis=-1):
    largest = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    return e / np.maximum(e.sum(axis=axis, keepdims=True), 1e-300)
"""
ONE_STORE = """
_store = {}
def new_cache():
    return _store
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    key = (x_new.shape[:-2], k.shape[-1], v.shape[-1])
    old = cache.get(key)
    if old is not None:
        k = np.concatenate([old[0], k], axis=-2)
        v = np.concatenate([old[1], v], axis=-2)
    cache[key] = k, v
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache
"""
SWAPPED = """
def attention_scores(k, q):
    return np.sin(k @ np.swapaxes(q, -1, -2))
"""
DECAY, ROOT = (
    OTHER_SQUARES.format("beta_1", "np.sqrt(square / (1 - beta_2**t)) + eps"),
    OTHER_SQUARES.format("beta_2", "np.sqrt(square / (1 - beta_2**t) + eps**2)"),
)
# Wrong programs that keep nothing from one call to the next, and what was said of them.
KEEP_NOTHING = {
    "another decay of squares": ("step19_training", DECAY, "the same call"),
    "eps under the root": ("step19_training", ROOT, "Right in every case"),
    "swapped parameters": ("step02_scores", SWAPPED, "an earlier call"),
    "wrong in float32 only": ("step04_softmax", TINY_TOTAL, "an earlier call"),
}
WRONG = {
    "no biases": ("step09_heads", NO_BIASES, "does not depend on b_v and b_o"),
    "right at first": ("step04_softmax", RIGHT_AT_FIRST, "an earlier call changes the result"),
    "one store": ("step07_kv_cache", ONE_STORE, "an earlier sequence changes the result"),
}
SUITES = pytest.mark.parametrize("suite", ["visible", "hidden"])


@pytest.fixture
def find_causes(steps, host):
    """find_causes(step id, code at the end of the solution, suite): the checks with causes."""

    def find_causes(id, end, suite):
        step, submission = steps.find(id), Submission("some", {id: SOLUTIONS[id] + end})
        return make_grader(steps, host, suite, SEED, [step]).find_causes(submission, step)[0]

    return find_causes


@pytest.mark.parametrize("name", WRONG)
@SUITES
def test_what_further_calls_show_is_said(find_causes, suite, name):
    id, end, words = WRONG[name]
    said = {check.diagnosis.says for check in find_causes(id, end, suite) if check.diagnosis}
    assert words in " ".join(said)


@pytest.mark.parametrize("name", KEEP_NOTHING)
@SUITES
def test_nothing_is_said_of_calls_or_parts_that_is_false(find_causes, suite, name):
    id, end, words = KEEP_NOTHING[name]
    found = find_causes(id, end, suite)
    assert [check for check in found if check.message]
    assert not [c for c in found if c.diagnosis and words in c.diagnosis.says]


@SUITES
@pytest.mark.parametrize(
    "id", ["step05_output", "step09_heads", "step10_cross_attention", "step11_block"]
)
def test_every_argument_of_right_code_makes_a_difference(steps, host, suite, id):
    """Also where all results are taken for wrong ones."""
    step, submission = steps.find(id), Submission("right", {id: SOLUTIONS[id]})
    grader = make_grader(steps, host, suite, SEED, [step])
    program = grader.attempt(submission, step, grader.right).program
    for function in step.functions:
        checks = [grader.bench.checks[check.id] for check in function.checks]
        given = grader.bench.inputs_for(step)
        tried = try_all_cases(host, program, step, function, checks, given).tried
        subject = Subject(host, function, program, program)
        assert find_state(subject, tried) is None
        assert find_idle(subject, tried) is None
        assert find_idle(subject, [replace(one, right=False) for one in tried]) is None
