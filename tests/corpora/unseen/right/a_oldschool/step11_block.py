import numpy as np
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    y = np.array(x, float)
    y -= np.mean(y, -1)[..., np.newaxis]
    var = np.mean(y * y, -1)[..., np.newaxis]
    y /= np.sqrt(var + eps)
    y *= gain
    y += bias
    return y


def gelu(x):
    c = np.sqrt(2.0 / np.pi)
    return 0.5 * x * (1.0 + np.tanh(c * (x + 0.044715 * x * x * x)))


def feed_forward(x, params):
    h = np.dot(x, params["w_in"]) + params["b_in"]
    return np.dot(gelu(h), params["w_out"]) + params["b_out"]


def decoder_block(x, params, n_heads, mask):
    x = x.copy()
    a = layer_norm(x, params["ln_1"]["gain"], params["ln_1"]["bias"])
    x += multi_head_attention(a, params["attention"], n_heads, mask)
    a = layer_norm(x, params["ln_2"]["gain"], params["ln_2"]["bias"])
    x += feed_forward(a, params["feed_forward"])
    return x
