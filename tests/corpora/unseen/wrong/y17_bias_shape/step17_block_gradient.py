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
    q, k, v = (split_heads(linear(x, params["w_" + n], params["b_" + n]), n_heads) for n in "qkv")
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    y = merge_heads(attention(q, k, v, mask))
    dy, dwo, _ = linear_backward(d_out, y, params["w_o"])
    ds = attention_backward(split_heads(dy, n_heads), q, k, v, mask)
    grads = {"w_o": dwo, "b_o": d_out.sum(axis=-2)}
    dx = np.zeros_like(x)
    for n, d in zip("qkv", ds):
        d = merge_heads(d)
        g, grads["w_" + n], grads["b_" + n] = linear_backward(d, x, params["w_" + n])
        dx += g
    return dx, grads


def decoder_block_backward(d_out, x, params, n_heads, mask):
    p1, p2 = params["ln_1"], params["ln_2"]
    h1 = layer_norm(x, p1["gain"], p1["bias"])
    mid = x + multi_head_attention(h1, params["attention"], n_heads, mask)
    h2 = layer_norm(mid, p2["gain"], p2["bias"])
    d_h2, g_ff = feed_forward_backward(d_out, h2, params["feed_forward"])
    d, g2, b2 = layer_norm_backward(d_h2, mid, p2["gain"])
    d_mid = d_out + d
    d_h1, g_at = multi_head_attention_backward(d_mid, h1, params["attention"], n_heads, mask)
    d, g1, b1 = layer_norm_backward(d_h1, x, p1["gain"])
    return d_mid + d, {
        "ln_1": {"gain": g1, "bias": b1},
        "ln_2": {"gain": g2, "bias": b2},
        "attention": g_at,
        "feed_forward": g_ff,
    }
