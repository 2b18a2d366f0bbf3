"""What `nopeek.testing` says of right models, of wrong ones, and of what is no model."""

import doctest

import numpy as np
import pytest

from grader.testing import assertions
from nopeek.testing import (
    assert_cache_agrees,
    assert_causal,
    assert_padding_ignored,
    assert_prefix_invariant,
    assert_rows_independent,
    leak_map,
)

X = np.random.default_rng(0).normal(size=(2, 6, 4))
IDS = np.array([[3, 1, 4, 1, 5, 2], [2, 4, 1, 3, 5, 1]])
TABLE = np.random.default_rng(1).normal(size=(6, 4))


def attend(x, *, shift=0, after=False):
    scores = x @ np.swapaxes(x, -1, -2) / 2
    mask = np.tri(x.shape[-2], k=shift, dtype=bool)
    if not after:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.where(mask, weights, 0) @ x


def cumulate(x):
    return np.cumsum(x, axis=-2)


def single(x):
    return attend(x.astype(np.float32))


def backwards(x):
    return x * np.arange(x.shape[-2])[::-1, None]


@pytest.mark.parametrize("model", [attend, cumulate, single])
@pytest.mark.parametrize("x", [X, X[0], X[None]])
def test_right_models_pass(model, x):
    assert_causal(model, x)
    assert_prefix_invariant(model, x)
    assert leak_map(model, x).leaks == []


WRONG = {
    "a mean over time": (lambda x: x - x.mean(-2, keepdims=True), "Every position sees every"),
    "a shifted mask": (lambda x: attend(x, shift=1), "Every position sees just 1 further"),
    "a shift by two": (lambda x: attend(x, shift=2), "Every position sees just 2 further"),
    "a late mask": (lambda x: attend(x, after=True), "the mask comes after the softmax"),
    "the mask upside down": (lambda x: np.cumsum(x[..., ::-1, :], -2)[..., ::-1, :], "no earlier"),
    "one row": (lambda x: np.concatenate([x[..., -1:, :], x[..., 1:, :]], -2), "Only some outputs"),
}


@pytest.mark.parametrize(("model", "usual"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("check", [assert_causal, assert_prefix_invariant])
def test_a_leak_is_told_with_its_map_and_usual_cause(model, usual, check):
    with pytest.raises(AssertionError, match=r"Position 0 of the output") as caught:
        check(model, X)
    assert "moved, and must not" in str(caught.value)
    assert usual in str(caught.value)


def test_what_depends_on_the_length_alone_is_found_by_prefixes_only():
    assert_causal(backwards, X)
    with pytest.raises(AssertionError, match="positions counted from the end"):
        assert_prefix_invariant(backwards, X)


def test_a_batch_that_is_mixed_is_no_leak_in_time():
    def mixed(x):
        return x - x.mean(axis=0)

    assert_causal(mixed, X)
    with pytest.raises(AssertionError, match=r"sequence 0 changed.*\n\nUsually: statistics"):
        assert_rows_independent(mixed, X)


def padded(tokens, *, masked=True, late=False):
    seen = (tokens != 0) if masked else np.ones(tokens.shape, bool)
    x = TABLE[tokens] * seen[..., None]
    total = np.cumsum(x, axis=-2) / np.maximum(np.cumsum(seen, -1), 1)[..., None]
    return total + (np.arange(tokens.shape[-1])[:, None] if late else 0)


def test_padding_must_not_matter():
    tokens = np.array([[0, 0, 1, 2], [3, 4, 1, 0], [1, 2, 3, 4]])
    assert_padding_ignored(padded, tokens, 0)
    with pytest.raises(AssertionError, match=r"sequence 0 .*2 before it.*its token 0 differs"):
        assert_padding_ignored(lambda ids: padded(ids, masked=False), tokens, 0)
    with pytest.raises(AssertionError, match="position ids that begin at 0"):
        assert_padding_ignored(lambda ids: padded(ids, late=True), tokens, 0)


def test_a_cache_must_agree_in_pieces_of_any_size():
    def step(x, total, start=0.0):
        y = cumulate(x) + (start if total is None else total)
        return y, y[..., -1:, :]

    assert_cache_agrees(cumulate, step, X)
    with pytest.raises(AssertionError, match="position 1, in a piece of 1 after 1 cached"):
        assert_cache_agrees(cumulate, lambda x, cache: step(x, None), X)
    with pytest.raises(AssertionError, match="step and model differ in more than that"):
        assert_cache_agrees(cumulate, lambda x, cache: step(x, cache, 1.0), X)
    with pytest.raises(AssertionError, match=r"expected \(outputs, cache\)"):
        assert_cache_agrees(cumulate, lambda x, cache: cumulate(x), X)


def grows(x, kept=[]):  # noqa: B006
    kept.append(0)
    return x + len(kept)


def clobbers(x):
    x[...] = 0
    return x


NOT_JUDGED = {
    "a tuple": (lambda x: (x, x), "returned a tuple of 2; expected one array"),
    "nothing": (lambda x: None, "returned a NoneType"),
    "an object": (lambda x: object(), "returned a object"),
    "another length": (lambda x: x[:, 1:], "its axis -2 should be time, 6 long"),
    "NaN": (lambda x: x * np.nan, "are NaN, the first at"),
    "state": (grows, "something else when it is asked the same again"),
    "its argument": (clobbers, "changes its argument"),
}


@pytest.mark.parametrize(("model", "says"), NOT_JUDGED.values(), ids=NOT_JUDGED)
@pytest.mark.parametrize("check", [assert_causal, assert_prefix_invariant, leak_map])
def test_what_cannot_be_judged_is_said_in_one_sentence(model, says, check):
    with pytest.raises(AssertionError, match=says) as caught:
        check(model, X)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ("a text", "tokens should be an array"),
        (X[0, 0], "tokens should be whole numbers of shape"),
        (X[:, :1], "at least 2 positions"),
        (np.zeros((2, 3), int), "cannot be replaced"),
        (IDS - 3, "cannot be replaced"),
    ],
)
def test_tokens_that_make_no_sense_are_a_value_error(tokens, says):
    with pytest.raises(ValueError, match=says):
        assert_causal(lambda tokens: np.zeros((*np.shape(tokens), 2)), tokens)


def test_the_same_seed_asks_the_same():
    asked = []
    for seed in (1, 1, 2):
        found = []
        assert_causal(lambda x, found=found: found.append(x.copy()) or cumulate(x), X, seed=seed)
        asked.append(np.concatenate([x.ravel() for x in found]))
    assert np.array_equal(asked[0], asked[1])
    assert not np.array_equal(asked[0], asked[2])


def test_passes_grow_with_the_positions_alone():
    calls = []
    for length in (16, 32):
        calls.append(0)

        def model(x):
            calls[-1] += 1
            return cumulate(x)

        assert_causal(model, np.ones((length, 3)))
    assert calls[1] - calls[0] == 16
    assert calls[1] <= 2 * 32


def test_a_map_prints_shows_and_saves_itself(tmp_path):
    found = leak_map(lambda x: attend(x, shift=1), X[0])
    assert found.leaks == [(i, i + 1) for i in range(5)]
    assert " 0 # ! . . . ." in str(found)
    assert "<svg" in found._repr_html_()
    assert found.save(tmp_path / "map.svg").read_text(encoding="utf-8").count("✗") == 5
    assert "No output moved" in str(leak_map(attend, X[0]))


def test_the_examples_in_docstrings_run():
    assert doctest.testmod(assertions).failed == 0
