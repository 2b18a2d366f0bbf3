"""The inputs of steps 8, 12 and 13: nothing hangs on rounding, and attention is of some keys."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.authoring.build import Recording
from grader.checks.suites import Live
from tests.conftest import SEED
from tests.visible import test_step08_generation as step8
from tests.visible import test_step12_decoder as step12
from tests.visible import test_step13_decoder_cache as step13

MARGIN = 1e-6
GIVENS = pytest.mark.parametrize("given", [Recording(), Live(SEED)], ids=["visible", "hidden"])
STACKS = pytest.mark.parametrize("sizes", step12.STACKS + step12.TIMED, ids=str)
SAMPLED_TOKENS = [
    (step8.sampled, step8.ROWS + step8.BATCH + step8.TEMPERATURES + step8.TOP_K),
    (step8.sampled, step8.SHAPES[1:] + step8.LARGE),
    (step8.sampled_from_ties, step8.TOP_K_TIES),
    (step8.sampled_at_extremes, step8.EXTREME_TEMPERATURES),
    (step8.far_apart, step8.BATCH),
]
writes = reference.decoder_generate
# The function, a builder, and its sizes.
DRAWN = {
    **{f"token-{n}": (reference.sample_token, *one) for n, one in enumerate(SAMPLED_TOKENS)},
    "text": (reference.generate, step8.model_and_u, step8.SAMPLED + step8.TEXT_BATCH),
    "decoder": (writes, step13.prompt_and_u, step13.SAMPLED + step13.TEXT_BATCH),
}
TEXTS = step8.PLAIN + step8.TEXT_SHAPES + step8.LIMITS + step8.LONG
LONG_TEXTS = step13.WRITTEN + step13.TEXT_SHAPES[1:] + step13.TEXT_LIMITS + step13.LONG
WRITTEN = {
    "text": (reference.generate, step8.model, TEXTS),
    "decoder": (writes, step13.prompt, LONG_TEXTS),
}


def cases(build, sizes, given=None):
    return [case.arguments for case in (given or Recording()).cases(build, sizes)]


def table(rows):
    return pytest.mark.parametrize(("function", "build", "sizes"), rows.values(), ids=rows)


@GIVENS
@table(DRAWN)
def test_u_is_far_from_every_border(function, build, sizes, given):
    for arguments in cases(build, sizes, given):
        tokens = function(**arguments)
        for shift in (-MARGIN, MARGIN):
            moved = {**arguments, "u": arguments["u"] + shift}
            np.testing.assert_array_equal(function(**moved), tokens)


def logits_of(tokens, arguments):
    if "n_heads" in arguments:
        return reference.decoder_logits(tokens, arguments["params"], arguments["n_heads"])
    return reference.next_token_logits(tokens, arguments["params"])


@GIVENS
@table(WRITTEN)
def test_largest_logit_is_far_from_the_next(function, build, sizes, given):
    for arguments in cases(build, sizes, given):
        logits = logits_of(function(**arguments), arguments)
        ranked = np.sort(logits[..., arguments["prompt"].shape[-1] - 1 : -1, :], axis=-1)
        assert (ranked[..., -1] - ranked[..., -2] > MARGIN).all()


def scores_of_blocks(tokens, params, n_heads):
    """The masked scores of every block, from the reference's parts."""
    mask = reference.causal_mask(tokens.shape[-1])
    x = params["embedding"][tokens] + params["position"][: tokens.shape[-1]]
    for block in params["blocks"]:
        normed, weights = reference.layer_norm(x, **block["ln_1"]), block["attention"]
        q, k = (
            reference.split_heads(normed @ weights[f"w_{name}"] + weights[f"b_{name}"], n_heads)
            for name in "qk"
        )
        yield reference.apply_mask(reference.attention_scores(q, k), mask)
        x = reference.decoder_block(x, block, n_heads, mask)


@GIVENS
@STACKS
def test_weights_are_neither_uniform_nor_all_on_one_key(given, sizes):
    (arguments,) = cases(step12.decoder, [sizes], given)
    for scores in scores_of_blocks(**arguments):
        last = reference.softmax(scores)[..., -1, :]
        assert np.median(last.max(axis=-1)) < 0.999
        assert np.median(np.ptp(last, axis=-1)) > 0.01


def test_weights_in_chunks_are_neither_uniform_nor_one_hot():
    for arguments in cases(step13.text, step13.PLAIN + step13.CHUNKS + step13.LAYERS):
        for scores in scores_of_blocks(**arguments):
            weights = reference.softmax(scores)[..., 1:, :]
            largest = weights.max(axis=-1)
            assert largest.min() < 0.9
            assert (largest - 1 / np.count_nonzero(weights, axis=-1)).max() > 0.1


@GIVENS
def test_large_scores_are_as_large_as_is_promised_and_no_larger(given):
    for one in given.cases(step13.large_text, step13.LARGE):
        for scores in scores_of_blocks(**one.arguments):
            finite = scores[np.isfinite(scores)]
            assert 1e3 < np.abs(finite).max() <= 1e6
            assert one.sizes["sign"] == 0 or (np.sign(finite) == one.sizes["sign"]).all()
