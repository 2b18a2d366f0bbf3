"""What the explorer draws comes out of the own functions, however they call each other."""

import re
from dataclasses import replace

import numpy as np
import pytest

from grader.demos.explorer.measure import explore, load_models
from grader.demos.submission_worker import NotReady
from grader.intake.submission import Submission
from grader.steps.stubs import stub_of
from tests.conftest import SOLUTIONS, STEPS

LAYER, DECODER = load_models().values()
RIGHT = {s.id: SOLUTIONS[s.id] for s in STEPS[:18]}

BY_HAND = """
def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name in "qkv"
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = SOFTMAX(np.where(mask, scores, -np.inf))
    return merge_heads(weights @ v) @ params["w_o"] + params["b_o"]
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


@pytest.fixture(scope="module")
def look(host, steps):
    """look(masked, model, prompt, steps, changed): the page of the solutions of these steps."""

    def look(masked=None, model="decoder", prompt="the fox has a", own=RIGHT, **changed):
        asked = {"model": model, "prompt": prompt, "masked": masked}
        return explore(host, steps, Submission("mine", {**own, **changed}), asked)

    return look


@pytest.fixture(scope="module")
def look_at_layer(look):
    """look_at_layer(upto): the page of the one-layer model, if only the first steps are written."""

    def look_at_layer(upto=18, **given):
        stubs = {step.id: stub_of(step) for step in STEPS[upto:18]}
        return look(model="layer", **{**stubs, **given})

    return look_at_layer


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
def test_right_code_shows_the_same_however_its_functions_call_each_other(way, look):
    found, right = look(**WAYS[way]), look()
    np.testing.assert_allclose(found["weights"], right["weights"], atol=1e-3)
    assert found["next"][-1][0][0] == right["next"][-1][0][0]
    assert found["leaks"] == []
    unmasked = look([True, False], **WAYS[way])
    first, second = np.array(unmasked["weights"])
    assert not np.triu(first, 1).any()
    assert np.triu(second, 1).any()
    assert unmasked["leaks"]


def test_mask_after_the_softmax_is_seen_in_the_weights(look_at_layer):
    bug = "\n\ndef attention(q, k, v, mask=None):\n"
    bug += "    return attention_output(softmax(attention_scores(q, k)) * mask, v)\n"
    found = look_at_layer(**more("step05_output", bug))
    weights = np.array(found["weights"])[0, 0]
    assert (weights.sum(axis=-1)[:-1] < 0.999).any()
    assert not np.triu(weights, 1).any()
    assert np.triu(np.array(found["softmax"])[0, 0], 1).any()


@pytest.mark.parametrize(("bug", "scale"), [(False, 8), (True, 1)], ids=["right", "no scale"])
def test_numbers_add_up_from_box_to_box(look_at_layer, bug, scale):
    text = "\n\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n" * bug
    found = look_at_layer(**more("step02_scores", text))
    names = ("q", "k", "v", "scores", "weights", "output")
    q, k, v, scores, weights, output = (np.array(found[name])[0, 0] for name in names)
    np.testing.assert_allclose(q @ k.T / scale, scores, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(weights @ v, output, atol=1e-2)
    assert found["masked"][0][0][0][1:] == ["-Infinity"] * 3


GREY = {1: "scores", 2: "masked", 3: "softmax", 4: "output", 5: "next"}


@pytest.mark.parametrize("upto", GREY)
def test_boxes_whose_step_is_unwritten_are_empty(look_at_layer, upto):
    found = look_at_layer(upto)
    names = ["scores", "masked", "softmax", "output", "next"]
    assert [name for name in names if found[name] is None] == names[names.index(GREY[upto]) :]
    assert all(found["steps"][name] <= upto for name in found["written"])
    assert upto > 5 or found["cache"] == {
        "problem": "Write new_cache (step 7), and it appears here."
    }


@pytest.mark.parametrize("model", [LAYER, DECODER], ids=lambda model: model.name)
def test_gradient_reaches_no_later_word_unless_a_mask_is_gone(look, model):
    found = look(model=model.name)["backward"]
    for name in "xqkv":
        sizes = np.array(found[name])
        for place in range(4):
            assert np.abs(sizes[place][..., place + 1 :]).max(initial=0) < 1e-12
        assert sizes[-1].max() > 0
    found = look([False] * model.layers, model.name)["backward"]
    assert np.array(found["x"])[0][..., 1:].max() > 1e-9


@pytest.mark.parametrize("model", [LAYER, DECODER], ids=lambda model: model.name)
def test_cache_has_one_row_more_for_each_word(look, model):
    found = look(model=model.name)
    cache, size = found["cache"], 128 if model is LAYER else 192
    assert cache["rows"] == [1, 2, 3, 4]
    assert cache["held"] == [size, 2 * size, 3 * size, 4 * size]
    assert max(cache["apart"]) < 1e-9
    np.testing.assert_allclose(cache["k"], found["k"], atol=1e-3)


def test_part_that_fails_leaves_the_others(look):
    text = "\n\ndef decoder_step(tokens_new, cache, params, n_heads):\n    return 1 / 0\n"
    found = look(**more("step13_decoder_cache", text))
    assert "raised ZeroDivisionError" in found["cache"]["problem"]
    assert found["backward"]["x"]


WRITTEN_OUT = MODULE_CALLED.replace("exercises.step11_block.decoder_block", "_block")
WRITTEN_OUT += "\n\ndef _block(x, params, n_heads, mask):\n    return x\n"
REFUSED = {
    "blocks written out": (more("step12_decoder", WRITTEN_OUT), "Yours calls it 0 times."),
    "product that does not fit": (
        more("step02_scores", "\n\ndef attention_scores(q, k):\n    return q @ k\n"),
        "In a matrix product the columns of the left array meet the rows of the right one:",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_decoder_that_cannot_be_looked_into_gets_a_sentence(name, look):
    changed, told = REFUSED[name]
    with pytest.raises(NotReady, match=re.escape(told)):
        look(**changed)


ENDLESS = "\n\ndef causal_mask(t_q, t_k=None):\n    while True:\n        t_q = 1\n"
HANGING = "\n\nimport time\ntime.sleep(60)\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ENDLESS, "It was inside the loop `while True:` (step03_mask.py, line {})."),
        (HANGING, "It was at `time.sleep(60)` (step03_mask.py, line {})."),
    ],
    ids=["loop", "import"],
)
def test_line_that_takes_too_long_is_named(look, host, monkeypatch, text, told):
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=6.0))
    line = RIGHT["step03_mask"].count("\n") + 4
    with pytest.raises(NotReady, match=re.escape(told.format(line))):
        look(**more("step03_mask", text))


@pytest.mark.long
def test_part_that_hangs_leaves_the_boxes(look, host, monkeypatch):
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=6.0))
    text = "\n\ndef new_decoder_cache(n_layers):\n    while True:\n        n_layers = 1\n"
    found = look(**more("step13_decoder_cache", text))
    assert "It was inside the loop `while True:`" in found["cache"]["problem"]
    assert found["backward"]["problem"].endswith("runs your code ended before this.")
    assert found["next"]


def test_weights_made_elsewhere_are_not_seen(look):
    own = "\ndef _own(scores):\n    powers = np.exp(scores - scores.max(-1, keepdims=True))\n"
    own += "    return powers / powers.sum(axis=-1, keepdims=True)\n"
    found = look(**more("step09_heads", own + BY_HAND.replace("SOFTMAX", "_own")))
    assert found["weights"] is None
    assert "softmax" not in found["called"]
    assert found["next"]


def test_file_that_is_missing_is_unwritten(look):
    own = {name: text for name, text in RIGHT.items() if name != "step04_softmax"}
    found = look(model="layer", own=own)
    assert found["masked"] is not None
    assert found["softmax"] is None
    found = look(model="layer", own={step.id: RIGHT[step.id] for step in STEPS[:4]})
    assert found["softmax"] is not None


def test_decoder_can_be_chosen_once_it_is_written(look_at_layer):
    assert look_at_layer(11)["models"] == ["layer"]
    assert look_at_layer(12)["models"] == ["layer", "decoder"]


def test_one_word_is_enough(look):
    found = look(model="layer", prompt="owl")
    assert found["loss"] is None
    assert found["weights"] == [[[[1.0]]]]


def test_answers_of_another_shape_are_refused(look):
    text = """
import sys

def softmax(scores, axis=-1):
    if "exercises.exploring" in sys.modules:
        sys.modules["exercises.exploring"]._find = lambda *given: np.zeros((2, 4, 4, 300))
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
    with pytest.raises(NotReady, match="The page cannot draw q: its shape is"):
        look(**more("step04_softmax", text))
