"""Right versions of step 17 in unusual style."""

import math
from collections import OrderedDict

import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention
from exercises.step11_block import feed_forward, gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward
from grader.answer_key.variants import fair

ROOT = math.sqrt(2 / math.pi)


def flat(array):
    return array.reshape(-1, array.shape[-1])


# layer_norm_backward


def norm_by_jacobian(d_out, x, gain, eps=1e-5):
    """For each position the matrix of slopes of n with respect to x."""
    size = x.shape[-1]
    centre = np.eye(size) - 1 / size
    c = x @ centre
    spread = np.sqrt((c * c).mean(axis=-1, keepdims=True) + eps)
    n = c / spread
    slopes = (centre - n[..., :, None] * n[..., None, :] / size) / spread[..., None]
    # n is centred already, so that the second term needs no centring of its own.
    d_x = np.einsum("...i,...ij->...j", d_out * gain, slopes)
    axes = tuple(range(x.ndim - 1))
    return d_x, np.sum(d_out * n, axis=axes), np.sum(d_out, axis=axes)


@fair("explicit_jacobian", "layer_norm_backward")
def norm_by_jacobian_alone(d_out, x, gain, eps=1e-5):
    """For each position the matrix of slopes of n with respect to x."""
    return norm_by_jacobian(d_out, x, gain, eps)


def norm_step_by_step(d_out, x, gain, eps=1e-5):
    """Every operation by itself: mean, difference, square, mean, root, inverse, product."""
    size = x.shape[-1]
    mean = x.sum(axis=-1, keepdims=True) / size
    c = x - mean
    square = c * c
    root = np.sqrt(square.sum(axis=-1, keepdims=True) / size + eps)
    inverse = 1 / root
    n = c * inverse
    d_n = d_out * gain
    d_inverse = (d_n * c).sum(axis=-1, keepdims=True)
    d_root = -d_inverse / root**2
    d_square = d_root / (2 * root) / size * np.ones_like(x)
    d_c = d_n * inverse + 2 * c * d_square
    d_x = d_c - d_c.sum(axis=-1, keepdims=True) / size
    flat = d_out.reshape(-1, size)
    return [d_x, (flat * n.reshape(-1, size)).sum(axis=0), flat.sum(axis=0)]


@fair("step_by_step", "layer_norm_backward")
def norm_step_by_step_alone(d_out, x, gain, eps=1e-5):
    """Every operation by itself: mean, difference, square, mean, root, inverse, product."""
    return norm_step_by_step(d_out, x, gain, eps)


@fair("position_loop", "layer_norm_backward")
def norm_position_by_position(upstream, inputs, scale, eps=1e-5):
    """One position at a time; other parameter names."""
    d_x = np.empty(inputs.shape)
    d_gain, d_bias = np.zeros(scale.shape), np.zeros(scale.shape)
    for at in np.ndindex(inputs.shape[:-1]):
        row, d = inputs[at], upstream[at]
        spread = math.sqrt(row.var() + eps)
        n, d_n = (row - row.mean()) / spread, d * scale
        d_x[at] = (d_n - d_n.mean() - n * np.dot(d_n, n) / row.size) / spread
        d_gain += d * n
        d_bias += d
    return d_x, d_gain, d_bias


# gelu_backward


def gelu_by_sigmoid(d_out, x):
    """(1 + tanh u) / 2 is the logistic function of 2u."""
    u = 2 * ROOT * (x + 0.044715 * x**3)
    small = np.exp(-np.abs(u))
    s = np.where(u >= 0, 1, small) / (1 + small)
    # s (1 − s), without the difference that loses its digits where s is nearly 1.
    slope = small / (1 + small) ** 2
    return d_out * (s + x * slope * 2 * ROOT * (1 + 3 * 0.044715 * x * x))


@fair("through_sigmoid", "gelu_backward")
def gelu_by_sigmoid_alone(d_out, x):
    """(1 + tanh u) / 2 is the logistic function of 2u."""
    return gelu_by_sigmoid(d_out, x)


@fair("number_by_number", "gelu_backward")
def gelu_by_number(d_out, x):
    """Python's own tanh, number by number."""

    def slope(value):
        u = ROOT * (value + 0.044715 * value**3)
        t = math.tanh(u)
        return (1 + t) / 2 + value / 2 * (1 - t * t) * ROOT * (1 + 0.134145 * value**2)

    slopes = [slope(float(value)) for value in x.ravel()]
    return d_out * np.array(slopes).reshape(x.shape)


def gelu_horner(d_out, x):
    """The polynomials in Horner's form; read-only result."""
    square = np.square(x)
    t = np.tanh(x * (ROOT + ROOT * 0.044715 * square))
    result = d_out * (0.5 + 0.5 * t + 0.5 * (1 - t) * (1 + t) * x * ROOT * (1 + 0.134145 * square))
    result.flags.writeable = False
    return result


@fair("horner", "gelu_backward")
def gelu_horner_alone(d_out, x):
    """The polynomials in Horner's form; read-only result."""
    return gelu_horner(d_out, x)


# feed_forward_backward


def network_by_einsum(d_out, x, params):
    """einsum throughout; the keys in another order."""
    inner = np.einsum("...d,df->...f", x, params["w_in"]) + params["b_in"]
    d_inner = np.einsum("...d,fd->...f", d_out, params["w_out"])
    d_inner = gelu_by_sigmoid(d_inner, inner)
    grads = OrderedDict()
    grads["b_out"] = np.einsum("pd->d", flat(d_out))
    grads["w_out"] = np.einsum("pf,pd->fd", flat(gelu(inner)), flat(d_out))
    grads["b_in"] = np.einsum("pf->f", flat(d_inner))
    grads["w_in"] = np.einsum("pd,pf->df", flat(x), flat(d_inner))
    return np.einsum("...f,df->...d", d_inner, params["w_in"]), grads


@fair("einsum", "feed_forward_backward")
def network_by_einsum_alone(d_out, x, params):
    """einsum throughout; the keys in another order."""
    return network_by_einsum(d_out, x, params)


@fair("closures", "feed_forward_backward")
def network_by_closures(d_out, x, params):
    """Forward, each operation leaves a function that goes back; then they run in reverse."""
    grads, backs = {}, []

    def map_by(w, b, a):
        def back(d):
            d_a, grads[w], grads[b] = linear_backward(d, a, params[w])
            return d_a

        backs.append(back)
        return linear(a, params[w], params[b])

    inner = map_by("w_in", "b_in", x)
    backs.append(lambda d: gelu_by_sigmoid(d, inner))
    map_by("w_out", "b_out", gelu(inner))
    for back in reversed(backs):
        d_out = back(d_out)
    return [d_out, grads]


def network_on_rows(d_out, x, params):
    """All positions in one long list."""
    rows, d = x.reshape(-1, x.shape[-1]), d_out.reshape(-1, d_out.shape[-1])
    inner = rows @ params["w_in"] + params["b_in"]
    d_inner = gelu_horner(d @ params["w_out"].T, inner)
    grads = dict(
        w_in=rows.T @ d_inner, b_in=d_inner.sum(0), w_out=gelu(inner).T @ d, b_out=d.sum(0)
    )
    return (d_inner @ params["w_in"].T).reshape(x.shape), grads


@fair("flat_rows", "feed_forward_backward")
def network_on_rows_alone(d_out, x, params):
    """All positions in one long list."""
    return network_on_rows(d_out, x, params)


# multi_head_attention_backward


def heads_one_by_one(d_out, x, params, n_heads, mask=None):
    """Each head by its columns; the gradients are written into zeros."""
    grads = {name: np.zeros(value.shape) for name, value in params.items()}
    d_x, width = np.zeros(x.shape), x.shape[-1] // n_heads
    for head in range(n_heads):
        mine = slice(head * width, (head + 1) * width)
        parts = [x @ params[f"w_{n}"][:, mine] + params[f"b_{n}"][mine] for n in "qkv"]
        d_head = d_out @ params["w_o"][mine].T
        scores = parts[0] @ np.swapaxes(parts[1], -1, -2) / math.sqrt(width)
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        top = scores.max(axis=-1, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(top), top, 0))
        total = e.sum(axis=-1, keepdims=True)
        y = e @ parts[2] / np.where(total > 0, total, 1)
        grads["w_o"][mine] = linear_backward(d_out, y, params["w_o"][mine])[1]
        for n, d in zip("qkv", attention_backward(d_head, *parts, mask), strict=True):
            part, grads[f"w_{n}"][:, mine], grads[f"b_{n}"][mine] = linear_backward(
                d, x, params[f"w_{n}"][:, mine]
            )
            d_x += part
    grads["b_o"] = d_out.reshape(-1, d_out.shape[-1]).sum(axis=0)
    return d_x, grads


@fair("head_by_head", "multi_head_attention_backward")
def heads_one_by_one_alone(d_out, x, params, n_heads, mask=None):
    """Each head by its columns; the gradients are written into zeros."""
    return heads_one_by_one(d_out, x, params, n_heads, mask)


def heads_by_einsum(d_out, x, params, n_heads, mask=None):
    """Heads as an axis of the weights; b_k's gradient is exactly 0, as it is known to be."""
    size = x.shape[-1]
    width = size // n_heads
    w = {n: params[f"w_{n}"].reshape(size, n_heads, width) for n in "qkv"}
    b = {n: params[f"b_{n}"].reshape(n_heads, 1, width) for n in "qkv"}
    q, k, v = (np.einsum("...td,dhe->...hte", x, w[n]) + b[n] for n in "qkv")
    mask = mask if mask is None or np.ndim(mask) < 3 else np.expand_dims(mask, -3)
    scores = np.einsum("...hqe,...hke->...hqk", q, k) / np.sqrt(width)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    top = np.maximum(scores.max(axis=-1, keepdims=True), -1e300)
    e = np.exp(scores - top)
    weights = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)
    y = np.einsum("...hqk,...hke->...qhe", weights, v)
    w_o = params["w_o"].reshape(n_heads, width, size)
    d_y = np.einsum("...td,hed->...hte", d_out, w_o)
    d_parts = attention_backward(d_y, q, k, v, mask)
    y = y.reshape(-1, n_heads, width)
    grads = {"w_o": np.einsum("phe,pd->hed", y, flat(d_out)).reshape(size, size)}
    grads["b_o"] = np.einsum("pd->d", flat(d_out))
    d_x = 0
    for n, d in zip("qkv", d_parts, strict=True):
        d_x = d_x + np.einsum("...hte,dhe->...td", d, w[n])
        d = np.moveaxis(d, -3, -2).reshape(-1, n_heads, width)
        grads[f"w_{n}"] = np.einsum("pd,phe->dhe", flat(x), d).reshape(size, size)
        grads[f"b_{n}"] = np.einsum("phe->he", d).reshape(size)
    grads["b_k"] = np.zeros(size)
    return d_x, grads


@fair("five_letters", "multi_head_attention_backward")
def heads_by_einsum_alone(d_out, x, params, n_heads, mask=None):
    """Heads as an axis of the weights; b_k's gradient is exactly 0, as it is known to be."""
    return heads_by_einsum(d_out, x, params, n_heads, mask)


@fair("mask_repeated", "multi_head_attention_backward")
def heads_with_repeated_mask(d_out, x, params, n_heads, mask=None):
    """The mask broadcast to every head beforehand; the parts side by side in one product."""
    size, length = x.shape[-1], x.shape[-2]
    shape = (*x.shape[:-2], n_heads, length, length)
    allowed = np.ones(shape, dtype=bool)
    if mask is not None:
        allowed &= np.broadcast_to(mask, (*x.shape[:-1], length))[..., None, :, :]

    def split(a):
        return np.moveaxis(a.reshape(*a.shape[:-1], n_heads, -1), -2, -3)

    def merge(a):
        return np.moveaxis(a, -3, -2).reshape(x.shape)

    fused = np.concatenate([params[f"w_{n}"] for n in "qkv"], axis=1)
    made = x @ fused + np.concatenate([params[f"b_{n}"] for n in "qkv"])
    parts = [split(a) for a in np.split(made, 3, axis=-1)]
    identity = {**params, "w_o": np.eye(size), "b_o": np.zeros(size)}
    merged = multi_head_attention(x, identity, n_heads, mask)
    d_merged, d_w_o, d_b_o = linear_backward(d_out, merged, params["w_o"])
    back = [merge(d) for d in attention_backward(split(d_merged), *parts, allowed)]
    d_x, d_w, d_b = linear_backward(np.concatenate(back, axis=-1), x, fused)
    grads = dict(zip(("w_q", "w_k", "w_v"), np.split(d_w, 3, axis=1), strict=True))
    grads |= dict(zip(("b_q", "b_k", "b_v"), np.split(d_b, 3), strict=True))
    return d_x, grads | {"w_o": d_w_o, "b_o": d_b_o}


# decoder_block_backward


@fair("two_halves", "decoder_block_backward")
def block_in_two_halves(d_out, x, params, n_heads, mask):
    """A function for each half, which knows its norm."""

    def half(d, x, norm, back):
        normed = layer_norm(x, norm["gain"], norm["bias"])
        d_normed, grads = back(d, normed)
        d_x, d_gain, d_bias = norm_step_by_step(d_normed, x, norm["gain"])
        return d + d_x, {"bias": d_bias, "gain": d_gain}, grads

    def through_network(d, normed):
        return network_by_einsum(d, normed, params["feed_forward"])

    def through_attention(d, normed):
        return heads_by_einsum(d, normed, params["attention"], n_heads, mask)

    normed = layer_norm(x, **params["ln_1"])
    middle = x + multi_head_attention(normed, params["attention"], n_heads, mask)
    d_middle, ln_2, network = half(d_out, middle, params["ln_2"], through_network)
    d_x, ln_1, heads = half(d_middle, x, params["ln_1"], through_attention)
    return d_x, {"feed_forward": network, "attention": heads, "ln_2": ln_2, "ln_1": ln_1}


@fair("closures", "decoder_block_backward")
def block_by_closures(d_out, x, params, n_heads, mask):
    """The forward pass leaves functions behind that add to a shared gradient."""
    grads, backs, stream = {}, [], x

    def normed(name):
        here, norm = stream, params[name]

        def back(d):
            d_x, d_gain, d_bias = norm_by_jacobian(d, here, norm["gain"])
            grads[name] = {"gain": d_gain, "bias": d_bias}
            return d_x

        return layer_norm(here, norm["gain"], norm["bias"]), back

    for norm, name, run, back in (
        (
            "ln_1",
            "attention",
            lambda a, p: multi_head_attention(a, p, n_heads, mask),
            lambda d, a, p: heads_one_by_one(d, a, p, n_heads, mask),
        ),
        ("ln_2", "feed_forward", feed_forward, network_on_rows),
    ):
        a, norm_back = normed(norm)
        stream = stream + run(a, params[name])

        def whole(d, a=a, name=name, back=back, norm_back=norm_back):
            d_a, grads[name] = back(d, a, params[name])
            return d + norm_back(d_a)

        backs.append(whole)
    for back in backs[::-1]:
        d_out = back(d_out)
    return d_out, grads
