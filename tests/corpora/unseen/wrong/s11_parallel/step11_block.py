from functools import reduce
import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    centre = lambda z: z - z.mean(-1, keepdims=True)
    unit = lambda z: z / np.sqrt((z ** 2).mean(-1, keepdims=True) + eps)
    return unit(centre(x)) * gain + bias

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))

def feed_forward(x, params):
    affine = lambda z, s: z @ params["w_" + s] + params["b_" + s]
    return affine(gelu(affine(x, "in")), "out")

def residual(*branches):
    return lambda x: reduce(lambda z, f: z + f(x), branches, x)

def decoder_block(x, params, n_heads, mask):
    normed = lambda name: lambda z: layer_norm(z, **params[name])
    return residual(
        lambda z: multi_head_attention(normed("ln_1")(z), params["attention"], n_heads, mask),
        lambda z: feed_forward(normed("ln_2")(z), params["feed_forward"]),
    )(x)
