"""What the explorer draws comes out of the own functions, however they call each other."""

import re
from dataclasses import replace

import numpy as np
import pytest

from grader.demos.explorer.measure import Request, explore, read_words
from grader.demos.gpt2.small import load_small
from grader.demos.submission_worker import NotReady
from grader.intake.submission import Submission
from grader.steps.stubs import stub_of
from tests.conftest import ROOT, STEPS

SMALL = load_small()
WORDS = ("the", "fox", "has", "a")
RIGHT = {s.id: (ROOT / "solutions" / s.filename).read_text("utf-8") for s in STEPS[:13]}

BY_HAND = """
def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name in "qkv"
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = SOFTMAX(np.where(mask, scores, -np.inf))
    return merge_heads(weights @ v) @ params["w_o"] + params["b_o"]
"""
OWN_SOFTMAX = """
def _own(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
HEAD_BY_HEAD = """
import exercises.step05_output as fifth


def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (
        np.split(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads, axis=-1) for name in "qkv"
    )
    heads = [fifth.attention(k=b, q=a, v=c, mask=mask) for a, b, c in zip(q, k, v)]
    return np.concatenate(heads, axis=-1) @ params["w_o"] + params["b_o"]
"""
MODULE_CALLED = """
import exercises.step11_block


def decoder_logits(tokens, params, n_heads, padding=None):
    mask = causal_mask(len(tokens))
    x = params["embedding"][tokens] + params["position"][: len(tokens)]
    for block in params["blocks"]:
        x = exercises.step11_block.decoder_block(x, block, n_heads=n_heads, mask=mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
"""
WRITTEN_OUT = (
    MODULE_CALLED.replace("exercises.step11_block.decoder_block", "_block")
    + """

def _block(x, params, n_heads, mask):
    return x
"""
)


def look(host, steps, masked=(True, True), registry=None, **changed):
    """What the page shows of the solutions with some steps changed."""
    submission = Submission("mine", {**RIGHT, **changed})
    request = Request(WORDS, tuple(masked))
    return explore(host, registry or steps, submission, SMALL, request)


@pytest.fixture(scope="module")
def right(host, steps):
    return look(host, steps)


def more(step, text):
    return {step: RIGHT[step] + text}


WAYS = {
    "softmax alone": more(
        "step09_heads",
        "\nfrom exercises.step04_softmax import softmax\n" + BY_HAND.replace("SOFTMAX", "softmax"),
    ),
    "head by head": more("step09_heads", HEAD_BY_HEAD),
    "by the module's name": more("step12_decoder", MODULE_CALLED),
}


@pytest.mark.parametrize("way", WAYS)
def test_right_code_shows_the_same_however_its_functions_call_each_other(way, host, steps, right):
    found = look(host, steps, **WAYS[way])
    np.testing.assert_allclose(found["weights"], right["weights"], atol=1e-3)
    assert found["next"][-1][0][0] == right["next"][-1][0][0]
    assert found["leaks"] == []


@pytest.mark.parametrize("way", WAYS)
def test_mask_of_a_layer_can_be_taken_away(way, host, steps):
    found = look(host, steps, (True, False), **WAYS[way])
    first, second = np.array(found["weights"])
    assert not np.triu(first, 1).any()
    assert np.triu(second, 1).any()
    assert found["leaks"]


def test_weights_of_a_row_sum_to_one_and_do_not_look_ahead(right):
    weights = np.array(right["weights"])
    assert weights.shape == (2, SMALL.config.n_heads, 4, 4)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=2e-3)
    assert not np.triu(weights, 1).any()


def test_mask_after_the_softmax_is_seen_in_the_weights(host, steps):
    late = RIGHT["step05_output"] + (
        "\n\ndef attention(q, k, v, mask=None):\n"
        "    weights = softmax(attention_scores(q, k))\n"
        "    return (weights if mask is None else weights * mask) @ v\n"
    )
    weights = np.array(look(host, steps, step05_output=late)["weights"])
    assert (weights.sum(axis=-1)[..., :-1] < 0.999).any()


REFUSED = {
    "weights made elsewhere": (
        more("step09_heads", OWN_SOFTMAX + BY_HAND.replace("SOFTMAX", "_own")),
        "Your multi_head_attention calls neither of them",
    ),
    "blocks written out": (more("step12_decoder", WRITTEN_OUT), "Yours calls it 0 times."),
    "product that does not fit": (
        more("step02_scores", "\n\ndef attention_scores(q, k):\n    return q @ k\n"),
        "In a matrix product the columns of the left array meet the rows of the right one:",
    ),
    "error": (
        more("step11_block", "\n\ndef decoder_block(x, params, n_heads, mask):\n    return y\n"),
        "Your decoder raised NameError in line",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_decoder_that_cannot_be_looked_into_gets_a_sentence(name, host, steps):
    changed, told = REFUSED[name]
    with pytest.raises(NotReady, match=re.escape(told)):
        look(host, steps, **changed)


ENDLESS = "\n\ndef causal_mask(t_q, t_k=None):\n    while True:\n        t_q = 1\n"
HANGING = "\n\nimport time\ntime.sleep(60)\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ENDLESS, "It was inside the loop `while True:` (step03_mask.py, line {})."),
        (HANGING, "It was at `time.sleep(60)` (step03_mask.py, line {})."),
    ],
    ids=["loop", "import"],
)
def test_line_that_takes_too_long_is_named(host, steps, monkeypatch, text, told):
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=3.0))
    line = RIGHT["step03_mask"].count("\n") + 4
    with pytest.raises(NotReady, match=re.escape(told.format(line))):
        look(host, steps, **more("step03_mask", text))


def test_step_that_is_not_written_is_named_where_there_are_no_solutions(host, steps, monkeypatch):
    monkeypatch.setattr("grader.demos.submission_worker.solutions", lambda registry: {})
    stub = stub_of(steps.find("step09_heads"))
    told = r"Your decoder cannot run yet: line \d+ of exercises/step09_heads.py is still to be"
    with pytest.raises(NotReady, match=told):
        look(host, steps, step09_heads=stub)


def test_kit_of_fewer_steps_says_what_is_missing(host, steps):
    few = replace(steps, steps=steps.steps[:9])
    with pytest.raises(NotReady, match="This kit has no step with decoder_block"):
        look(host, steps, registry=few)


@pytest.mark.parametrize(
    ("text", "told"), [("", "at least one"), ("a zebra", "never seen 'zebra'")]
)
def test_words_that_the_model_does_not_know_are_refused(text, told):
    with pytest.raises(NotReady, match=told):
        read_words(text, SMALL)
