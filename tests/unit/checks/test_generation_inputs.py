"""The inputs of step 8: rounding cannot change a token, and a token depends on all before it."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.conftest import SEED
from tests.visible import test_step08_generation as step8

MARGIN = 1e-6
SAMPLING = [
    (step8.sampled, step8.ROWS + step8.BATCH + step8.TEMPERATURES + step8.TOP_K),
    (step8.sampled, step8.SHAPES[1:] + step8.LARGE),
    (step8.sampled_from_ties, step8.TOP_K_TIES),
    (step8.sampled_at_extremes, step8.EXTREME_TEMPERATURES),
    (step8.far_apart, step8.BATCH),
]
SAMPLED_TEXTS = step8.SAMPLED + step8.TEXT_BATCH
GREEDY_TEXTS = step8.PLAIN + step8.TEXT_SHAPES + step8.LIMITS + step8.LONG


def cases(build, sizes, given=None):
    return [case.arguments for case in (given or Recording()).cases(build, sizes)]


@pytest.mark.parametrize("given", [Recording(), Live(SEED)], ids=["visible", "hidden"])
@pytest.mark.parametrize(
    ("build", "sizes"), SAMPLING, ids=lambda item: getattr(item, "__name__", "")
)
def test_u_is_far_from_every_border(build, sizes, given):
    for arguments in cases(build, sizes, given):
        ids = reference.sample_token(**arguments)
        for shift in (-MARGIN, MARGIN):
            moved = {**arguments, "u": arguments["u"] + shift}
            np.testing.assert_array_equal(reference.sample_token(**moved), ids)


@pytest.mark.parametrize("sizes", SAMPLED_TEXTS, ids=str)
def test_u_of_a_text_is_far_from_every_border(sizes):
    (arguments,) = cases(step8.model_and_u, [sizes])
    tokens = reference.generate(**arguments)
    for shift in (-MARGIN, MARGIN):
        moved = {**arguments, "u": arguments["u"] + shift}
        np.testing.assert_array_equal(reference.generate(**moved), tokens)


@pytest.mark.parametrize("sizes", GREEDY_TEXTS, ids=str)
def test_largest_logit_is_far_from_the_next(sizes):
    (arguments,) = cases(step8.model, [sizes])
    tokens, t = reference.generate(**arguments), arguments["prompt"].shape[-1]
    logits = reference.next_token_logits(tokens, arguments["params"])[..., t - 1 : -1, :]
    ranked = np.sort(logits, axis=-1)
    assert (ranked[..., -1] - ranked[..., -2] > MARGIN).all()


@pytest.mark.parametrize("number", range(1, len(step8.PLAIN)))
def test_greedy_text_depends_on_prompt_and_positions(number):
    arguments = cases(step8.model, step8.PLAIN)[number]
    prompt, params = arguments["prompt"], arguments["params"]
    t, tokens = len(prompt), reference.generate(**arguments)
    assert len(set(tokens[t:].tolist())) > 1
    for place in range(t):
        others = np.tile(prompt, (len(params["embedding"]), 1))
        others[:, place] = np.arange(len(others))
        assert (reference.generate(others, arguments["n_new"], params)[:, t:] != tokens[t:]).any()
    still = {
        **params,
        "position": np.broadcast_to(params["position"][:1], params["position"].shape),
    }
    assert (reference.generate(prompt, arguments["n_new"], still) != tokens).any()
