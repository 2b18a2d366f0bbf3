import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    n = x.shape[-1]
    s1 = np.sum(x, axis=-1, keepdims=True) / n
    s2 = np.einsum("...i,...i->...", x, x)[..., None] / n
    return gain * (x - s1) / np.sqrt(s2 - s1 * s1 + eps) + bias


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x ** 3)))


def feed_forward(x, params):
    return linear(gelu(linear(x, params["w_in"], params["b_in"])), params["w_out"], params["b_out"])


def decoder_block(x, params, n_heads, mask):
    x = x + multi_head_attention(
        layer_norm(x, params["ln_1"]["gain"], params["ln_1"]["bias"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, params["ln_2"]["gain"], params["ln_2"]["bias"]), params["feed_forward"])
