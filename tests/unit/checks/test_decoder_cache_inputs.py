"""The inputs of step 13: what is right does not hang on rounding, and what is wrong shows."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.conftest import SEED
from tests.visible import test_step13_decoder_cache as step13

MARGIN = 1e-6
BOTH = pytest.mark.parametrize("given", [Recording(), Live(SEED)], ids=["visible", "hidden"])
GREEDY = step13.WRITTEN + step13.TEXT_SHAPES[1:] + step13.TEXT_LIMITS + step13.LONG
SAMPLED = step13.SAMPLED + step13.TEXT_BATCH


def cases(build, sizes, given=None):
    return [case.arguments for case in (given or Recording()).cases(build, sizes)]


def scores_of_all_layers(tokens, params, n_heads):
    """The masked scores of every layer, from the reference's parts."""
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


@BOTH
def test_largest_logit_is_far_from_the_next(given):
    for arguments in cases(step13.prompt, GREEDY, given):
        tokens, t = reference.decoder_generate(**arguments), arguments["prompt"].shape[-1]
        logits = reference.decoder_logits(tokens, arguments["params"], arguments["n_heads"])
        ranked = np.sort(logits[..., t - 1 : -1, :], axis=-1)
        assert (ranked[..., -1] - ranked[..., -2] > MARGIN).all()


@BOTH
def test_u_of_a_text_is_far_from_every_border(given):
    for arguments in cases(step13.prompt_and_u, SAMPLED, given):
        tokens = reference.decoder_generate(**arguments)
        for shift in (-MARGIN, MARGIN):
            moved = {**arguments, "u": arguments["u"] + shift}
            np.testing.assert_array_equal(reference.decoder_generate(**moved), tokens)


@pytest.mark.parametrize("number", range(1, len(step13.WRITTEN)))
def test_greedy_text_depends_on_prompt_and_positions(number):
    arguments = cases(step13.prompt, step13.WRITTEN)[number]
    prompt, params, rest = arguments["prompt"], arguments["params"], arguments["n_heads"]
    n_new, t = arguments["n_new"], len(prompt)
    tokens = reference.decoder_generate(prompt, n_new, params, rest)
    assert len(set(tokens[t:].tolist())) > 1
    for place in range(t):
        others = np.tile(prompt, (len(params["embedding"]), 1))
        others[:, place] = np.arange(len(others))
        assert (reference.decoder_generate(others, n_new, params, rest)[:, t:] != tokens[t:]).any()
    first = np.broadcast_to(params["position"][:1], params["position"].shape)
    still = {**params, "position": first}
    assert (reference.decoder_generate(prompt, n_new, still, rest) != tokens).any()


def test_weights_are_neither_uniform_nor_one_hot():
    for arguments in cases(step13.text, step13.PLAIN + step13.CHUNKS + step13.LAYERS):
        for scores in scores_of_all_layers(**arguments):
            weights = reference.softmax(scores)[..., 1:, :]
            largest = weights.max(axis=-1)
            assert largest.min() < 0.9
            uniform = 1 / np.count_nonzero(weights, axis=-1)
            assert (largest - uniform).max() > 0.1


@BOTH
def test_large_scores_are_as_large_as_is_promised_and_no_larger(given):
    for case in given.cases(step13.large_text, step13.LARGE):
        for scores in scores_of_all_layers(**case.arguments):
            finite = scores[np.isfinite(scores)]
            assert 1e3 < np.abs(finite).max() <= 1e6
            assert case.sizes["sign"] == 0 or (np.sign(finite) == case.sizes["sign"]).all()
