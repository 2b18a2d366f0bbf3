"""Things to look at: pictures of right functions, a calm sentence for all others."""

import importlib
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from grader import look, reference
from grader.selfstudy import peeking, pictures
from grader.selfstudy.sentence import KEYS, QUERIES, SCORES, TOKENS

from .conftest import ROOT, STEPS

USED = {
    "projections": ("project_qkv",),
    "scores": ("attention_scores",),
    "spread": ("attention_scores",),
    "masking": ("apply_mask", "causal_mask"),
    "weights": ("softmax",),
    "sharpness": ("softmax",),
    "attention_weights": ("attention", "causal_mask"),
    "leaks": ("attention", "causal_mask"),
    "peeking": ("attention", "log_softmax", "cross_entropy"),
    "times": ("masked_self_attention", "attend_with_cache", "new_cache"),
    "temperatures": ("sample_token",),
}


@pytest.fixture(scope="module")
def right():
    """The functions of all steps, on top of each other, by name."""
    names = {}
    for step in STEPS:
        text = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        exec(
            compile(re.sub(r"^from exercises\..*$", "", text, flags=re.MULTILINE), "x", "exec"),
            names,
        )
    return names


@pytest.fixture(scope="module")
def stubs():
    names = {}
    for step in STEPS:
        module = importlib.import_module(f"exercises.{step.id}")
        names.update(vars(module))
    return names


def drawn(name, names):
    return getattr(look, name)(*(names[function] for function in USED[name]))


def pictures_in(shown):
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", shown.html)]


@pytest.mark.parametrize("name", USED)
def test_right_functions_give_a_picture(name, right):
    shown = drawn(name, right)
    found = pictures_in(shown)
    assert found
    assert all(svg.get("aria-label") for svg in found)
    assert len(shown.html) < 12_000 * len(found)
    assert "nan" not in shown.html
    assert len(repr(shown).splitlines()) > 1


@pytest.mark.parametrize("name", USED)
def test_stubs_give_a_calm_sentence(name, stubs):
    shown = drawn(name, stubs)
    assert not pictures_in(shown)
    assert re.fullmatch(
        r"Nothing to see yet: \w+ in exercises/\w+\.py is still to be written\.", repr(shown)
    )


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("wrong", [lambda *a, **k: None, lambda *a, **k: np.zeros(3)])
def test_wrong_functions_give_a_sentence(name, wrong):
    shown = getattr(look, name)(*[wrong] * len(USED[name]))
    assert repr(shown).startswith("There is no picture of that yet")
    assert "\n" not in repr(shown)


def test_function_that_raises_is_named():
    def softmax(scores):
        return scores["x"]

    assert "softmax raised IndexError" in repr(look.weights(softmax))


def test_every_look_of_the_lessons_is_tested():
    texts = [(ROOT / "solutions" / s.filename).read_text(encoding="utf-8") for s in STEPS]
    asked = {name for text in texts for name in re.findall(r"^# look\.(\w+)\(", text, re.MULTILINE)}
    assert asked == set(USED)


# What the pictures show.


def test_scores_of_the_sentence_are_those_of_its_vectors():
    found = reference.attention_scores(QUERIES, KEYS)
    np.testing.assert_allclose(np.asarray(found), SCORES, atol=0.005)


def test_leaks_are_marked_before_the_mask_and_gone_after_it(right):
    before, after = pictures_in(drawn("leaks", right))
    titles = [[t.text for t in svg.iter("title")] for svg in (before, after)]
    assert "It moves when go changes: a leak" in titles[0]
    assert sum("a leak" in title for title in titles[0]) == len(TOKENS) * (len(TOKENS) - 1) / 2
    assert not any("a leak" in title for title in titles[1])
    assert "go moves when It changes" in titles[1]


def test_mask_that_leaks_is_seen(right):
    shown = look.leaks(right["attention"], lambda t: np.tri(t, t, 1, dtype=bool))
    _, after = pictures_in(shown)
    assert sum("a leak" in t.text for t in after.iter("title")) == len(TOKENS) - 1


def test_model_that_peeks_is_too_good_until_it_writes(right):
    losses = drawn("peeking", right).data["losses"]
    trained, writing = losses["with the mask"]
    assert peeking.FLOOR - 0.05 < writing < peeking.FLOOR + 0.1
    assert abs(trained - writing) < 0.1
    trained, writing = losses["without: it peeks"]
    assert trained < peeking.FLOOR - 0.2
    assert writing > peeking.FLOOR + 0.5


def test_training_ends_when_functions_are_slow(right):
    model = peeking.Model(
        *(right[name] for name in USED["peeking"]), np.tri(peeking.LENGTH - 1, dtype=bool)
    )
    assert len(peeking.train(model, peeking.texts(np.random.RandomState(0)), seconds=0.0)) == 1


def test_picture_escapes_its_labels():
    svg = pictures.heat_map("<a>", ["<b>"], ["&"], [[1.0]])
    assert ElementTree.fromstring(svg).get("aria-label") == "<a>"


@pytest.mark.parametrize("values", [[[np.nan]], [[np.inf]], [[-np.inf]], [[0.0]]])
def test_picture_of_any_number_can_be_drawn(values):
    ElementTree.fromstring(pictures.heat_map("t", ["a"], ["b"], values))


@pytest.mark.parametrize("most", [0.0, 1e-9, 0.7, 1.0, 16.46, 250.0, 1e7])
def test_curves_have_few_round_ticks(most):
    ticks = pictures._ticks(most)
    assert 1 <= len(ticks) <= 9
    assert ticks[0] == 0
    assert ticks[-1] <= most + 1e-9
