import numpy as np

from exercises.stats_helpers import moments
from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    mean, var = moments(x)
    return gain * (x - mean) / np.sqrt(var + eps) + bias


def gelu(x):
    return x * 0.5 * (np.tanh((x + 0.044715 * x * x * x) * np.sqrt(2 / np.pi)) + 1)


def feed_forward(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden, params["w_out"], params["b_out"])


def decoder_block(x, params, n_heads, mask):
    x = x + multi_head_attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask=mask)
    return x + feed_forward(layer_norm(x, **params["ln_2"]), params["feed_forward"])
