import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from exercises.step11_block import gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward
import math


def layer_norm_backward(d_out, x, gain, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    inv = 1.0 / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + eps)
    x_hat = centred * inv
    lead = tuple(range(x.ndim - 1))
    d_gain = (d_out * x_hat).sum(axis=lead)
    d_bias = d_out.sum(axis=lead)
    g = d_out * gain
    d_x = inv * (g - g.mean(axis=-1, keepdims=True) - x_hat * (g * x_hat).mean(axis=-1, keepdims=True))
    return d_x, d_gain, d_bias


def gelu_backward(d_out, x):
    phi = np.exp(-0.5 * np.square(x)) / math.sqrt(2.0 * math.pi)
    cdf = 0.5 * (1.0 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2.0)))
    return d_out * (cdf + x * phi)


def feed_forward_backward(d_out, x, params):
    pre = linear(x, params["w_in"], params["b_in"])
    d_act, d_w_out, d_b_out = linear_backward(d_out, gelu(pre), params["w_out"])
    d_pre = gelu_backward(d_act, pre)
    d_x, d_w_in, d_b_in = linear_backward(d_pre, x, params["w_in"])
    return d_x, {"w_in": d_w_in, "b_in": d_b_in, "w_out": d_w_out, "b_out": d_b_out}


def multi_head_attention_backward(d_out, x, params, n_heads, mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(x, params["w_v"], params["b_v"]), n_heads)
    if mask is not None:
        mask = np.asarray(mask)
        if mask.ndim > 2:
            mask = mask[..., None, :, :]
    merged = merge_heads(attention(q, k, v, mask))
    grads = {}
    d_merged, grads["w_o"], grads["b_o"] = linear_backward(d_out, merged, params["w_o"])
    parts = attention_backward(split_heads(d_merged, n_heads), q, k, v, mask)
    d_x = 0.0
    for name, part in zip("qkv", parts):
        piece, grads["w_" + name], grads["b_" + name] = linear_backward(merge_heads(part), x, params["w_" + name])
        d_x = d_x + piece
    return d_x, grads


def decoder_block_backward(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    h1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    mid = x + multi_head_attention(h1, params["attention"], n_heads, mask)
    h2 = layer_norm(mid, ln_2["gain"], ln_2["bias"])
    grads = {}
    d_h2, grads["feed_forward"] = feed_forward_backward(d_out, h2, params["feed_forward"])
    d_ln, gain_2, bias_2 = layer_norm_backward(d_h2, mid, ln_2["gain"])
    grads["ln_2"] = {"gain": gain_2, "bias": bias_2}
    d_mid = d_out + d_ln
    d_h1, grads["attention"] = multi_head_attention_backward(d_mid, h1, params["attention"], n_heads, mask)
    d_ln, gain_1, bias_1 = layer_norm_backward(d_h1, x, ln_1["gain"])
    grads["ln_1"] = {"gain": gain_1, "bias": bias_1}
    return d_mid + d_ln, grads
