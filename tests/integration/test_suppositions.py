"""Test suppositions about right code with changed inputs: only what reproduces every call."""

import ast

import pytest

from grader.diagnosis.suppositions import arguments_of, suppose_arguments
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from tests.conftest import ROOT, SEED

BACKWARDS = """
def attention_output(weights, v):
    return weights @ np.flip(v, axis=-2)
"""
EXCHANGED = """
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    drawn = np.where(replace < 0.8, random_ids, np.where(replace < 0.9, mask_id, tokens))
    return np.where(chosen, drawn, tokens), np.where(chosen, tokens, -100)
"""
NO_BIAS = """
_right_step = decoder_step
def decoder_step(tokens_new, cache, params, n_heads):
    blocks = []
    for block in params["blocks"]:
        attention = {**block["attention"], "b_q": np.zeros_like(block["attention"]["b_q"])}
        blocks.append({**block, "attention": attention})
    return _right_step(tokens_new, cache, {**params, "blocks": blocks}, n_heads)
"""
TWICE = """
def attention_output(weights, v):
    return weights @ np.flip(v, axis=-2) + 0.1 * v.sum()
"""
SUPPOSED = {
    "v backwards": ("step05_output", BACKWARDS, "v reversed along axis -2"),
    "exchanged": ("step14_masked_lm", EXCHANGED, "random_ids and mask_id swapped"),
    "no b_q": ("step13_decoder_cache", NO_BIAS, "b_q = 0 throughout"),
}
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
SHIFTED = """
def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], np.concatenate([tokens[..., 2:], tokens[..., -1:]], axis=-1)
"""


@pytest.fixture
def found(steps, host):
    """found(step id, code at the end of the solution): the diagnoses, by function."""

    def find(id, end, suite="visible"):
        step = steps.find(id)
        source = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        submission = Submission("some", {id: f"{source}\nimport numpy as np\n{end}"})
        grader = make_grader(steps, host, suite, SEED, [step])
        verdicts, _ = grader.find_causes(submission, step)
        return {v.function: v.diagnosis for v in verdicts if v.diagnosis}

    return find


@pytest.mark.parametrize("suite", ["visible", "hidden"])
@pytest.mark.parametrize("name", SUPPOSED)
def test_supposition_that_reproduces_every_call_is_said(found, suite, name):
    id, end, words = SUPPOSED[name]
    function = end.strip().split("def ")[1].split("(")[0]
    diagnosis = found(id, end, suite)[function]
    assert words in diagnosis.says
    assert not diagnosis.known


def test_caller_is_said_to_give_what_the_called_function_gives(found):
    says = {name: diagnosis.says for name, diagnosis in found("step05_output", BACKWARDS).items()}
    assert says["attention"].startswith("attention_output gives what right code gives with")


def test_supposition_is_not_said_if_one_call_is_otherwise(found):
    diagnosis = found("step05_output", TWICE).get("attention_output")
    assert diagnosis is None or "supposed" not in diagnosis.misconception


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_code_that_refuses_everything_is_not_right_code_that_refuses(found, suite):
    """Right code refuses 1 / d_head as well, but nobody has computed that."""
    end = "\ndef rotary_angles(positions, d_head, base=10000.0):\n    raise ValueError('too odd')\n"
    assert found("step20_positions", end, suite) == {}


def test_cache_that_all_texts_share_is_found_by_asking_for_each_text_alone(found):
    diagnosis = found("step07_kv_cache", ONE_STORE)["attend_with_cache"]
    assert diagnosis.misconception == "property:state"


def test_caller_without_a_cause_names_the_function_that_fails_by_itself(found):
    says = {name: diagnosis.says for name, diagnosis in found("step06_loss", SHIFTED).items()}
    words = "teacher_forced_loss calls shift_tokens, which fails its own checks."
    assert says["teacher_forced_loss"] == words


def test_arguments_are_known_by_name_however_they_are_passed():
    class Call:
        args, kwargs = ([1.0], {"b": 2}), {"mask": None, "eps": 1e-3}

    given = arguments_of("def f(x, params, mask=None, eps=1.0): ...", "f", [Call])
    assert given == {"x": [1.0], "params": {"b": 2}, "eps": 1e-3}


def test_no_two_suppositions_share_a_name():
    given = {"n": 2, "params": {"ln_1": {"gain": [1]}, "ln_2": {"gain": [1]}, "w": [2]}}
    names = [variant.name for variant in suppose_arguments("step05_output", "attention", given)]
    assert len(names) == len(set(names)) > 10


def test_key_that_is_code_is_not_run():
    """No tree of a judge's has one, but what is supposed runs outside of any sandbox."""
    given = {"params": {"w = 0\nraise SystemExit\n#": [1.0], "é ": 2, "b": 3}}
    for variant in suppose_arguments("step05_output", "attention", given):
        assert variant.name.isidentifier()
        assert len(ast.parse(variant.body).body) == 2


def test_exception_without_a_number_supposes_nothing(steps, host):
    end = """
def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, clip_gradients(grads, max_norm), state, lr)
    return loss, params, state
"""
    step = steps.find("step19_training")
    source = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8") + end
    report = make_grader(steps, host, "visible", SEED, (step,)).grade(
        Submission("wrong", {step.id: source}), (step,)
    )
    assert [c.diagnosis for c in report.steps[0].checks if c.check == "train_agree"] == [None]
