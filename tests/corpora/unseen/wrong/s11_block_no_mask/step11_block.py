import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True, ddof=0)
    return np.add(np.multiply(np.divide(np.subtract(x, mean), np.sqrt(np.add(var, eps))), gain), bias)

C = np.sqrt(2.0 / np.pi)

def gelu(x):
    return 0.5 * x * (1 + np.tanh(C * (x + 0.044715 * x ** 3)))

def feed_forward(x, params):
    y = np.add(np.matmul(x, params["w_in"]), params["b_in"])
    return np.add(np.matmul(gelu(y), params["w_out"]), params["b_out"])

def decoder_block(x, params, n_heads, mask):
    y = np.add(x, multi_head_attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads))
    return np.add(y, feed_forward(layer_norm(y, **params["ln_2"]), params["feed_forward"]))
