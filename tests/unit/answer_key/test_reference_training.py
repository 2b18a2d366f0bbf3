"""The reference of Part III against what needs no autograd: central differences."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.steps.inputs import Draw
from tests.visible import decoders

H = 1e-6


def differences(loss, x):
    """The slope of a loss with respect to each number of x, of which it reads the present one."""
    slopes = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        here = x[index]
        x[index] = here + H
        above = loss()
        x[index] = here - H
        slopes[index] = (above - loss()) / (2 * H)
        x[index] = here
    return slopes


DRAW = Draw("reference of gradients")


def test_every_gradient_of_a_decoder_is_the_slope_of_the_loss_of_part_two():
    """The loss by the functions of Parts I and II, which know nothing of autograd."""
    sizes = {"n_layers": 1, "n_heads": 2, "d_head": 2, "d_ff": 3}
    params = decoders.decoder(DRAW, vocabulary=4, t_max=4, **sizes)
    tokens = np.array([[0, 1, 0, 2], [2, 2, 1, 0]])

    def loss(tree):
        logits = reference.decoder_logits(tokens[:, :-1], tree, 2)
        return reference.cross_entropy(logits, tokens[:, 1:])

    value, grads = reference.decoder_loss_and_gradients(tokens, params, 2)
    assert value == pytest.approx(loss(params), abs=1e-12)
    trees = [(params, grads)] * 2
    trees.append([tree["blocks"][0]["attention"] for tree in (params, grads)])
    for (tree, found), key in zip(trees, ("embedding", "position", "w_v"), strict=True):
        slopes = differences(lambda: loss(params), tree[key])
        np.testing.assert_allclose(found[key], slopes, rtol=1e-6, atol=1e-8)
