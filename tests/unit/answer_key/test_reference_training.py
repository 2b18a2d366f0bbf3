"""The reference of Part III against what needs no autograd: central differences, and 50 steps."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.steps.inputs import Draw
from tests.visible import decoders
from tests.visible.masks import causal

H = 1e-6


def differences(loss, x):
    """The slope of a loss with respect to each number of x."""
    slopes = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[index] += H
        below[index] -= H
        slopes[index] = (loss(above) - loss(below)) / (2 * H)
    return slopes


DRAW = Draw("reference of gradients")
Q, K, V = DRAW.normal(2, 3, 4), DRAW.normal(2, 5, 4), DRAW.normal(2, 5, 2)
X, GAIN, BIAS = DRAW.normal(2, 4, 6), DRAW.normal(6), DRAW.normal(6)
SEEN = DRAW.uniform(3, 5) < 0.6
SEEN[1] = False
BLOCK = decoders.block(DRAW, 6, 5)
FORWARD_AND_BACK = {
    "linear": (reference.linear, reference.linear_backward, [X, DRAW.normal(6, 3)], ()),
    "attention": (reference.attention, reference.attention_backward, [Q, K, V], (SEEN,)),
    "gelu": (reference.gelu, reference.gelu_backward, [X], ()),
    "feed_forward": (
        reference.feed_forward,
        reference.feed_forward_backward,
        [X],
        (BLOCK["feed_forward"],),
    ),
    "block": (
        reference.decoder_block,
        reference.decoder_block_backward,
        [X],
        (BLOCK, 2, causal(4)),
    ),
}


@pytest.mark.parametrize("name", FORWARD_AND_BACK)
def test_gradients_are_the_slopes_of_the_forward_function(name):
    forward, backward, arrays, rest = FORWARD_AND_BACK[name]
    d_out = Draw(name).normal(*forward(*arrays, *rest).shape)
    found = backward(d_out, *arrays, *rest)
    found = found if isinstance(found, tuple) else (found,)
    for number, array in enumerate(arrays):

        def loss(moved, number=number):
            given = [*arrays[:number], moved, *arrays[number + 1 :]]
            return float((forward(*given, *rest) * d_out).sum())

        np.testing.assert_allclose(found[number], differences(loss, array), rtol=1e-6, atol=1e-7)


def test_layer_norm_gradients_are_slopes():
    d_out = DRAW.normal(*X.shape)
    d_x, d_gain, d_bias = reference.layer_norm_backward(d_out, X, GAIN, 0.1)

    def loss(x, gain, bias):
        return float((reference.layer_norm(x, gain, bias, 0.1) * d_out).sum())

    for found, moved in (
        (d_x, differences(lambda x: loss(x, GAIN, BIAS), X)),
        (d_gain, differences(lambda gain: loss(X, gain, BIAS), GAIN)),
        (d_bias, differences(lambda bias: loss(X, GAIN, bias), BIAS)),
    ):
        np.testing.assert_allclose(found, moved, rtol=1e-6, atol=1e-7)


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
    for key in ("embedding", "position"):
        slopes = differences(lambda array, key=key: loss({**params, key: array}), params[key])
        np.testing.assert_allclose(grads[key], slopes, rtol=1e-6, atol=1e-8)
    attention = params["blocks"][0]["attention"]

    def with_w_v(array):
        block = {**params["blocks"][0], "attention": {**attention, "w_v": array}}
        return loss({**params, "blocks": [block]})

    slopes = differences(with_w_v, attention["w_v"])
    found = grads["blocks"][0]["attention"]["w_v"]
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-8)
