"""The inputs of step 11 show what they should: gains, biases, masks and weights that matter."""

import math

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.hidden.test_step11_block import EDGES
from tests.visible import test_step11_block as checks

MOST = 1e6  # what the lessons promise of scores, features and numbers
BLOCKS = [
    *(checks.BLOCKS + checks.MASKED + checks.BLOCK_SHAPES + checks.BLOCK_TEXTS),
    *(checks.BLOCK_BATCH + checks.ANY_MASK + checks.LONG),
    *(EDGES["block_mask"] + EDGES["block_shapes"]),
]
SUITES = [pytest.param(Recording, id="visible")] + [
    pytest.param(lambda seed=seed: Live(seed), id=f"hidden-{seed}") for seed in range(5)
]


@pytest.fixture(params=SUITES)
def given(request):
    return request.param()


def scores_of(case):
    """The scores of the first half of a block, (..., n_heads, T, T)."""
    x, params, n_heads = (case.arguments[name] for name in ("x", "params", "n_heads"))
    normed = reference.layer_norm(x, **params["ln_1"])
    attention = params["attention"]
    q, k = (
        reference.split_heads(normed @ attention[f"w_{name}"] + attention[f"b_{name}"], n_heads)
        for name in "qk"
    )
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])


def weights_of(case):
    """The attention weights of the first half, and where the mask allows any."""
    scores, mask = scores_of(case), case.arguments["mask"]
    allowed = np.broadcast_to(mask, (*scores.shape[:-3], *scores.shape[-2:]))[..., None, :, :]
    allowed = np.broadcast_to(allowed, scores.shape)
    e = np.where(allowed, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    return e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300), allowed


def test_gains_are_not_one_and_biases_are_not_zero(given):
    for case in given.cases(checks.block, BLOCKS):
        params = case.arguments["params"]
        one, two = params["ln_1"], params["ln_2"]
        for norm in (one, two):
            assert np.abs(norm["gain"] - 1).min() > 0.3
            assert np.abs(norm["bias"]).max() > 0
        assert not np.array_equal(one["gain"], two["gain"])
        for half, names in (("attention", "qkvo"), ("feed_forward", ("in", "out"))):
            assert all(params[half][f"b_{name}"].any() for name in names)


def test_attention_is_neither_uniform_nor_one_hot(given):
    uneven = mixed = 0
    for case in given.cases(checks.block, checks.BLOCKS):
        weights, allowed = weights_of(case)
        several = allowed.sum(axis=-1) > 1
        top = weights.max(axis=-1)[several]
        uneven += np.count_nonzero(top > 1.05 / allowed.sum(axis=-1)[several])
        mixed += np.count_nonzero(top < 0.99)
    assert uneven >= 3
    assert mixed >= 3


def test_masks_differ_and_hide_something(given):
    for case in given.cases(checks.block, checks.MASKED):
        mask, length = case.arguments["mask"], case.arguments["x"].shape[-2]
        assert mask.dtype == np.bool_
        assert not np.array_equal(
            np.broadcast_to(mask, np.broadcast_shapes(mask.shape, (length, length))),
            np.broadcast_to(checks.causal(length), (*mask.shape[:-2], length, length)),
        )


def test_large_is_large_and_within_what_is_promised(given):
    scores = [np.abs(scores_of(c)).max() for c in given.cases(checks.block, checks.BLOCK_LARGE)]
    assert max(scores) > 1e4
    assert max(scores) < MOST
    for build, sizes in (
        (checks.large_vectors, checks.NORMED_LARGE),
        (checks.numbers, checks.NUMBERS_LARGE),
        (checks.block, checks.BLOCK_LARGE),
    ):
        largest = [np.abs(case.arguments["x"]).max() for case in given.cases(build, sizes)]
        assert 1e4 < max(largest) < MOST
    for case in given.cases(checks.fed, checks.FED_LARGE):
        x, params = case.arguments["x"], case.arguments["params"]
        assert np.abs(x @ params["w_in"] + params["b_in"]).max() < MOST


def test_eps_matters_where_it_is_given(given):
    for case in given.cases(checks.vectors, checks.OTHER_EPS):
        usual = reference.layer_norm(**case.arguments)
        inside = reference.layer_norm(**{**case.arguments, "eps": 1e-9})
        flat = np.ptp(case.arguments["x"][..., 0, :], axis=-1).max() == 0
        assert flat or np.abs(usual - inside).max() > 1e-3
        if flat:
            assert np.abs(usual[..., 0, :] - case.arguments["bias"]).max() < 1e-6


def test_numbers_tell_the_forms_of_gelu_apart(given):
    for case in given.cases(checks.numbers, checks.NUMBERS):
        x = case.arguments["x"]
        assert (x < -0.3).any()
        assert (x > 0.3).any()
        exact = x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))
        assert np.abs(exact - reference.gelu(x)).max() > 1e-6
