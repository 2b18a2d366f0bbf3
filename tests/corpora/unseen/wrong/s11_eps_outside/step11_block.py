import numpy as np
from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / (np.std(x, axis=-1, keepdims=True) + eps) * gain + bias

def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * np.power(x, 3))))

def feed_forward(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden, params["w_out"], params["b_out"])

class Block:
    def __init__(self, params):
        self.params = params

    def norm(self, which, x):
        return layer_norm(x, **self.params[which])

    def run(self, x, attend):
        x = x + attend(self.norm("ln_1", x))
        return x + feed_forward(self.norm("ln_2", x), self.params["feed_forward"])

def decoder_block(x, params, n_heads, mask):
    return Block(params).run(x, lambda y: multi_head_attention(y, params["attention"], n_heads, mask))
