import math

import numpy as np

from exercises.step09_heads import multi_head_attention

_C = math.sqrt(2.0 / math.pi)


def layer_norm(x, gain, bias, eps=1e-5):
    out = np.array(x, copy=True)
    mean = np.empty(x.shape[:-1] + (1,), dtype=out.dtype)
    np.mean(out, axis=-1, keepdims=True, out=mean)
    out -= mean
    sq = np.empty_like(out)
    np.multiply(out, out, out=sq)
    np.mean(sq, axis=-1, keepdims=True, out=mean)
    mean += eps
    np.sqrt(mean, out=mean)
    out /= mean
    out *= gain
    out += bias
    return out


def gelu(x):
    x = np.asarray(x)
    t = np.multiply(x, x, out=np.empty(x.shape, x.dtype))
    np.multiply(t, 0.044715, out=t)
    np.add(t, 1, out=t)
    np.multiply(t, x, out=t)
    np.multiply(t, _C, out=t)
    np.tanh(t, out=t)
    np.add(t, 1, out=t)
    np.multiply(t, x, out=t)
    np.multiply(t, 0.5, out=t)
    return t


def feed_forward(x, params):
    h = np.matmul(x, params["w_in"])
    h += params["b_in"]
    h = gelu(h)
    y = np.matmul(h, params["w_out"])
    y += params["b_out"]
    return y


def decoder_block(x, params, n_heads, mask):
    out = np.array(x, copy=True)
    out += multi_head_attention(
        layer_norm(out, params["ln_1"]["gain"], params["ln_1"]["bias"]), params["attention"], n_heads, mask
    )
    out += feed_forward(layer_norm(out, params["ln_2"]["gain"], params["ln_2"]["bias"]), params["feed_forward"])
    return out
