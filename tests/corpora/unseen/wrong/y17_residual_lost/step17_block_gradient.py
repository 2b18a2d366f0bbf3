import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from exercises.step11_block import gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward


def layer_norm_backward(d_out, x, gain, eps=1e-5):
    mu = x.mean(axis=-1, keepdims=True)
    inv = 1 / np.sqrt(((x - mu) ** 2).mean(axis=-1, keepdims=True) + eps)
    xhat = (x - mu) * inv
    lead = tuple(range(x.ndim - 1))
    g = d_out * gain
    d_x = inv * (g - g.mean(axis=-1, keepdims=True) - xhat * (g * xhat).mean(axis=-1, keepdims=True))
    return d_x, (d_out * xhat).sum(axis=lead), d_out.sum(axis=lead)


def gelu_backward(d_out, x):
    c = np.sqrt(2 / np.pi)
    t = np.tanh(c * (x + 0.044715 * x**3))
    return d_out * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2))


def feed_forward_backward(d_out, x, params):
    h = linear(x, params["w_in"], params["b_in"])
    d_a, d_wo, d_bo = linear_backward(d_out, gelu(h), params["w_out"])
    d_x, d_wi, d_bi = linear_backward(gelu_backward(d_a, h), x, params["w_in"])
    return d_x, {"w_in": d_wi, "b_in": d_bi, "w_out": d_wo, "b_out": d_bo}


def multi_head_attention_backward(d_out, x, params, n_heads, mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(x, params["w_v"], params["b_v"]), n_heads)
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    merged = merge_heads(attention(q, k, v, mask))
    grads = {}
    d_merged, grads["w_o"], grads["b_o"] = linear_backward(d_out, merged, params["w_o"])
    d_q, d_k, d_v = attention_backward(split_heads(d_merged, n_heads), q, k, v, mask)
    d_x = 0
    for name, d in (("q", d_q), ("k", d_k), ("v", d_v)):
        part, grads["w_" + name], grads["b_" + name] = linear_backward(merge_heads(d), x, params["w_" + name])
        d_x = d_x + part
    return d_x, grads


def decoder_block_backward(d_out, x, params, n_heads, mask):
    ln1, ln2 = params["ln_1"], params["ln_2"]
    a = layer_norm(x, **ln1)
    y = x + multi_head_attention(a, params["attention"], n_heads, mask)
    b = layer_norm(y, **ln2)
    db, gff = feed_forward_backward(d_out, b, params["feed_forward"])
    dy, g2, c2 = layer_norm_backward(db, y, ln2["gain"])
    dy = dy + d_out
    da, gat = multi_head_attention_backward(dy, a, params["attention"], n_heads, mask)
    dx, g1, c1 = layer_norm_backward(da, x, ln1["gain"])
    return dx, {"ln_1": {"gain": g1, "bias": c1}, "ln_2": {"gain": g2, "bias": c2}, "attention": gat, "feed_forward": gff}
