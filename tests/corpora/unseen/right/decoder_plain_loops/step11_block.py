import math
import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    out = np.zeros(x.shape)
    d = x.shape[-1]
    for where in np.ndindex(*x.shape[:-1]):
        row = [float(a) for a in x[where]]
        mean = sum(row) / d
        var = sum((a - mean) ** 2 for a in row) / d
        scale = 1 / math.sqrt(var + eps)
        for i in range(d):
            out[where + (i,)] = (row[i] - mean) * scale * gain[i] + bias[i]
    return out

def gelu(x):
    x = np.asarray(x)
    out = np.zeros(x.shape)
    for where in np.ndindex(*x.shape):
        a = float(x[where])
        out[where] = 0.5 * a * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a * a * a)))
    return out

def feed_forward(x, params):
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def decoder_block(x, params, n_heads, mask):
    a = params["ln_1"]
    x = x + multi_head_attention(layer_norm(x, a["gain"], a["bias"]), params["attention"], n_heads, mask)
    b = params["ln_2"]
    x = x + feed_forward(layer_norm(x, b["gain"], b["bias"]), params["feed_forward"])
    return x
