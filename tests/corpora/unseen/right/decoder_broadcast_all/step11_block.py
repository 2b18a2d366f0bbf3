import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    return gain * (x - mu) / np.sqrt(((x - mu) ** 2).mean(-1, keepdims=True) + eps) + bias

def gelu(x):
    return x * 0.5 * (1 + np.tanh((2 / np.pi) ** 0.5 * x * (1 + 0.044715 * x ** 2)))

def feed_forward(x, params):
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def decoder_block(x, params, n_heads, mask):
    def norm(name, z):
        return layer_norm(z, params[name]["gain"], params[name]["bias"])
    y = x + multi_head_attention(norm("ln_1", x), params["attention"], n_heads, mask)
    return y + feed_forward(norm("ln_2", y), params["feed_forward"])
