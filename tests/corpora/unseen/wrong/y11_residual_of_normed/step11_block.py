import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    mu = x.mean(axis=-1, keepdims=True)
    var = ((x - mu) ** 2).mean(axis=-1, keepdims=True)
    return (x - mu) / np.sqrt(var + eps) * gain + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def feed_forward(x, params):
    return linear(gelu(linear(x, params["w_in"], params["b_in"])), params["w_out"], params["b_out"])


def decoder_block(x, params, n_heads, mask):
    x = layer_norm(x, **params["ln_1"])
    x = x + multi_head_attention(x, params["attention"], n_heads, mask)
    x = layer_norm(x, **params["ln_2"])
    return x + feed_forward(x, params["feed_forward"])
