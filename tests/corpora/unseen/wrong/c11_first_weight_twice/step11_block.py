import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = ((x - mu) ** 2).mean(-1, keepdims=True)
    return gain * (x - mu) / np.sqrt(var + eps) + bias


def gelu(x):
    # minGPT NewGELU
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * np.power(x, 3.0))))


def feed_forward(x, params):
    h = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(h, params["w_in"], params["b_out"])


class Block:
    def __init__(self, params, n_heads):
        self.p, self.h = params, n_heads

    def ln(self, name, x):
        return layer_norm(x, **self.p[name])

    def __call__(self, x, mask):
        x = x + multi_head_attention(self.ln("ln_1", x), self.p["attention"], self.h, mask)
        x = x + feed_forward(self.ln("ln_2", x), self.p["feed_forward"])
        return x


def decoder_block(x, params, n_heads, mask):
    return Block(params, n_heads)(x, mask)
