"""Right versions of step 11 in unusual style."""

import functools
import math
import statistics
import sys
import warnings

import numpy as np

from exercises.step09_heads import multi_head_attention
from exercises.step10_cross_attention import cross_attention
from grader.answer_key.variants import fair

SQRT_2_OVER_PI = 0.7978845608028654


def tanh_by_sigmoid(x):
    """x times a sigmoid; exp of what is never positive, so nothing overflows."""
    z = 2 * SQRT_2_OVER_PI * x * (1 + 0.044715 * x * x)
    e = np.exp(-np.abs(z))
    return x * np.where(z >= 0, 1, e) / (1 + e)


class Norm:
    """A layer norm as an object that holds its parameters."""

    def __init__(self, *, gain, bias):
        self.gain, self.bias = gain, bias

    def __call__(self, x):
        centred = np.subtract(x, np.mean(x, -1, keepdims=True))
        scale = np.sqrt(np.var(x, -1, keepdims=True) + 1e-5)
        return np.divide(centred, scale) * self.gain + self.bias


def heads_one_by_one(x, params, n_heads, mask):
    """Every head from its own columns of the weights; the sum of their rows of w_o."""
    width = x.shape[-1] // n_heads
    additive = np.where(mask, 0.0, -np.inf)
    total = params["b_o"]
    for h in range(n_heads):
        mine = slice(h * width, (h + 1) * width)
        q, k, v = (x @ params[f"w_{n}"][:, mine] + params[f"b_{n}"][mine] for n in "qkv")
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(width) + additive
        top = scores.max(axis=-1, keepdims=True)
        e = np.exp(scores - np.where(np.isneginf(top), 0, top))
        weights = e / np.maximum(e.sum(axis=-1, keepdims=True), np.finfo(e.dtype).tiny)
        total = total + weights @ v @ params["w_o"][mine]
    return total


def heads_by_einsum(x, params, n_heads, mask):
    """Time, head and width are axes of the weights, and nothing is transposed."""
    d_model = x.shape[-1]

    def projected(n):
        weight = params[f"w_{n}"].reshape(d_model, n_heads, -1)
        return np.einsum("...td,dhe->...the", x, weight) + params[f"b_{n}"].reshape(n_heads, -1)

    q, k, v = map(projected, "qkv")
    scores = np.einsum("...the,...she->...hts", q, k) * q.shape[-1] ** -0.5
    allowed = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))[..., None, :, :]
    scores = np.where(allowed, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True, initial=np.finfo(scores.dtype).min)
    e = np.exp(scores - top)
    weights = e / np.where(allowed.any(axis=-1, keepdims=True), e.sum(-1, keepdims=True), 1)
    w_o = params["w_o"].reshape(n_heads, -1, d_model)
    return np.einsum("...hts,...she,hed->...td", weights, v, w_o) + params["b_o"]


# layer_norm


@fair("var_and_mean", "layer_norm")
def norm_var_and_mean(x, gain, bias, eps=1e-5):
    """NumPy's own mean and variance."""
    mean, variance = np.mean(x, axis=-1, keepdims=True), np.var(x, axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + eps) + bias


@fair("python_loops", "layer_norm")
def norm_python_loops(x, gain, bias, eps=1e-5):
    """Row by row, with the statistics of the standard library; a list of lists becomes an array."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]).astype(float):
        mean = statistics.fmean(row)
        spread = math.sqrt(math.fsum((f - mean) ** 2 for f in row) / len(row) + eps)
        rows.append([g * (f - mean) / spread + b for f, g, b in zip(row, gain, bias, strict=True)])
    return np.array(rows).reshape(x.shape)


@fair("fused", "layer_norm")
def norm_fused(x, gain, bias, eps=1e-5):
    """One multiplication and one addition, as fast implementations have it."""
    mean = x.mean(-1, keepdims=True)
    scale = gain * (np.square(x - mean).mean(-1, keepdims=True) + eps) ** -0.5
    return x * scale + (bias - mean * scale)


@fair("centring_matrix", "layer_norm")
def norm_centring_matrix(x, gain, bias, eps=1e-5):
    """The mean is taken off by a matrix, the squares are summed by einsum."""
    d = x.shape[-1]
    centred = x @ (np.eye(d) - 1 / d)
    squares = np.einsum("...d,...d->...", centred, centred)[..., None]
    return np.asfortranarray(centred * np.sqrt(d) / np.sqrt(squares + d * eps) * gain + bias)


@fair("along_axis", "layer_norm")
def norm_along_axis(x, gain, bias, eps=1e-5):
    """A closure applied along the last axis."""

    def one(row):
        return (row - row.mean()) / math.hypot(row.std(), math.sqrt(eps)) * gain + bias

    return np.apply_along_axis(one, -1, x)


@fair("transposed", "layer_norm")
def norm_transposed(inputs, scale, shift, epsilon_unused=None, eps=1e-5):
    """Features first, so that nothing needs keepdims; other names; a view with odd strides."""
    features = np.moveaxis(inputs, -1, 0)
    centred = features - features.mean(axis=0)
    normed = centred / np.sqrt((centred * centred).mean(axis=0) + eps)
    return np.moveaxis(normed, 0, -1) * scale + shift


@fair("longdouble_and_back", "layer_norm")
def norm_longdouble(x, gain, bias, eps=1e-5):
    """Extended precision inside, the dtype of x outside; read-only."""
    wide = x.astype(np.longdouble)
    centred = wide - wide.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * gain + bias
    y = y.astype(x.dtype)
    y.flags.writeable = False
    return y


# gelu


@fair("sigmoid", "gelu")
def gelu_sigmoid_of_twice(x):
    """(1 + tanh z) / 2 is the sigmoid of 2z."""
    return tanh_by_sigmoid(x)


@fair("vectorized_math", "gelu")
def gelu_vectorized(x):
    """math.tanh, number by number."""
    factor = math.sqrt(2 / math.pi)

    def one(value):
        return value / 2 * (1 + math.tanh(factor * (value + 0.044715 * math.pow(value, 3))))

    return np.vectorize(one, otypes=[np.float64])(x)


@fair("in_place_on_a_copy", "gelu")
def gelu_in_place(x):
    """One array, overwritten step by step; prints and warns."""
    print("numbers:", x.size, file=sys.stderr)
    warnings.warn("gelu is approximate", stacklevel=2)
    y = np.array(x, copy=True)
    np.power(y, 3, out=y)
    y *= 0.044715
    y += x
    y *= SQRT_2_OVER_PI
    np.tanh(y, out=y)
    y += 1
    y *= x / 2
    return y


@fair("generator", "gelu")
def gelu_from_generator(x):
    """np.fromiter over the flat array."""
    values = (0.5 * v * (1 + math.tanh(SQRT_2_OVER_PI * (v + 0.044715 * v**3))) for v in x.flat)
    return np.fromiter(map(float, values), float, x.size).reshape(x.shape)


@fair("polynomial", "gelu")
def gelu_polynomial(x):
    """The cubic by Horner's rule, as a polynomial object."""
    cubic = np.polynomial.Polynomial([0.0, 1.0, 0.0, 0.044715])
    return (0.5 + 0.5 * np.tanh(cubic(x) * np.sqrt(2) / np.sqrt(np.pi))) * x


# feed_forward


@fair("einsum", "feed_forward")
def feed_forward_einsum(x, params):
    """Two sums with names; gelu by its sigmoid."""
    hidden = np.einsum("...d,df->...f", x, params["w_in"]) + params["b_in"]
    return np.einsum("...f,fd->...d", tanh_by_sigmoid(hidden), params["w_out"]) + params["b_out"]


@fair("flattened", "feed_forward")
def feed_forward_flattened(x, params):
    """All positions of all texts as the rows of one matrix: that mixes nothing."""
    rows = np.reshape(x, (-1, x.shape[-1]))
    hidden = gelu(np.dot(rows, params["w_in"]) + params["b_in"])
    return (np.dot(hidden, params["w_out"]) + params["b_out"]).reshape(x.shape)


@fair("neuron_by_neuron", "feed_forward")
def feed_forward_neurons(x, params):
    """Each hidden unit adds its own row of w_out."""
    y = np.zeros(x.shape) + params["b_out"]
    units = zip(params["w_in"].T, params["b_in"], params["w_out"], strict=True)
    for into, bias, out_of in units:
        y = y + gelu((x * into).sum(axis=-1, keepdims=True) + bias) * out_of
    return y


@fair("position_by_position", "feed_forward")
def feed_forward_positions(x, params):
    """A loop over all positions of all texts."""
    y = np.empty(x.shape, dtype=np.result_type(x, params["w_out"]))
    for place in np.ndindex(*x.shape[:-1]):
        hidden = gelu(x[place] @ params["w_in"] + params["b_in"])
        y[place] = hidden @ params["w_out"] + params["b_out"]
    return y


@fair("bias_as_a_row", "feed_forward")
def feed_forward_bias_rows(x, p):
    """The biases are one more row of the weights; functools.reduce over the layers."""

    def layer(h, weights):
        weight, bias, activation = weights
        ones = np.ones((*h.shape[:-1], 1))
        return activation(np.concatenate([h, ones], axis=-1) @ np.vstack([weight, bias]))

    layers = [(p["w_in"], p["b_in"], gelu), (p["w_out"], p["b_out"], np.asarray)]
    return functools.reduce(layer, layers, x)


# decoder_block


@fair("norm_objects", "decoder_block")
def block_norm_objects(x, params, n_heads, mask):
    """Norms that are objects; halves that are partial functions; a loop over the two."""
    attend = functools.partial(
        multi_head_attention, params=params["attention"], n_heads=n_heads, mask=mask
    )
    feed = functools.partial(feed_forward, params=params["feed_forward"])
    for name, half in (("ln_1", attend), ("ln_2", feed)):
        x = half(Norm(**params[name])(x)) + x
    return x


@fair("heads_one_by_one", "decoder_block")
def block_heads_one_by_one(x, params, n_heads, mask):
    """Its own attention, a head at a time, the mask added as 0 and -inf."""
    middle = x + heads_one_by_one(
        layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask
    )
    return middle + feed_forward(layer_norm(middle, **params["ln_2"]), params["feed_forward"])


@fair("einsum", "decoder_block")
def block_einsum(x, params, n_heads, mask):
    """Its own attention by einsum, with head axes that stay where they are."""
    middle = x + heads_by_einsum(
        layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask
    )
    return middle + feed_forward(layer_norm(middle, **params["ln_2"]), params["feed_forward"])


@fair("row_by_row", "decoder_block")
def block_row_by_row(x, params, n_heads, mask):
    """One query at a time, with its own row of the mask, by cross attention."""
    mask = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    normed = layer_norm(x, **params["ln_1"])
    rows = []
    for t in range(x.shape[-2]):
        here = slice(t, t + 1)
        found = cross_attention(
            normed[..., here, :], normed, params["attention"], n_heads, mask[..., here, :]
        )
        row = x[..., here, :] + found
        rows.append(row + feed_forward(layer_norm(row, **params["ln_2"]), params["feed_forward"]))
    return np.concatenate(rows, axis=-2)


@fair("texts_apart", "decoder_block")
def block_texts_apart(x, params, n_heads, mask):
    """One text of the batch at a time, into an array that is filled."""
    mask = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    y = np.array(x, dtype=float)
    for place in np.ndindex(*x.shape[:-2]):
        h = layer_norm(y[place], params["ln_1"]["gain"], params["ln_1"]["bias"])
        y[place] += multi_head_attention(h, params["attention"], n_heads, mask[place])
        h = layer_norm(y[place], params["ln_2"]["gain"], params["ln_2"]["bias"])
        y[place] += feed_forward(h, params["feed_forward"])
    return y


@fair("gains_folded_in", "decoder_block")
def block_gains_folded(x, params, n_heads, mask):
    """Gains and biases of the norms become part of the maps behind them."""
    one, two = params["ln_1"], params["ln_2"]
    attention, network = dict(params["attention"]), dict(params["feed_forward"])
    for n in "qkv":
        attention[f"b_{n}"] = one["bias"] @ attention[f"w_{n}"] + attention[f"b_{n}"]
        attention[f"w_{n}"] = one["gain"][:, None] * attention[f"w_{n}"]
    network["b_in"] = two["bias"] @ network["w_in"] + network["b_in"]
    network["w_in"] = two["gain"][:, None] * network["w_in"]
    x = x + multi_head_attention(layer_norm(x, 1.0, 0.0), attention, n_heads, mask)
    return x + feed_forward(layer_norm(x, 1.0, 0.0), network)


@fair("stream_apart", "decoder_block")
def block_stream_apart(stream, weights, heads, allowed, *, verbose=True):
    """What is added is kept in a list and summed at the end; prints; other names."""
    added = [stream]
    halves = {
        "ln_1": lambda h: multi_head_attention(h, weights["attention"], heads, allowed),
        "ln_2": lambda h: feed_forward(h, weights["feed_forward"]),
    }
    for name, half in halves.items():
        added.append(half(layer_norm(sum(added), **weights[name])))
        if verbose:
            print(name, added[-1].shape)
    return np.sum(np.stack(added), axis=0)
