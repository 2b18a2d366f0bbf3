from functools import partial, reduce
import numpy as np
from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    mean = partial(np.mean, axis=-1, keepdims=True)
    centred = x - mean(x)
    return linear_scale(centred / np.sqrt(mean(centred ** 2) + eps), gain, bias)


linear_scale = lambda x, a, b: x * a + b


def make_gelu(c, a):
    return lambda x: x * (np.tanh(c * (x + a * x ** 3)) + 1) / 2


gelu = make_gelu(np.sqrt(2 / np.pi), 0.044715)


def chain(*fs):
    return lambda x: reduce(lambda y, f: f(y), fs, x)


def residual(*fs):
    inner = chain(*fs)
    return lambda x: x + inner(x)


def feed_forward(x, params):
    return chain(partial(linear, weight=params["w_in"], bias=params["b_in"]), gelu,
                 partial(linear, weight=params["w_out"], bias=params["b_out"]))(x)


def decoder_block(x, params, n_heads, mask):
    return chain(
        residual(partial(layer_norm, **params["ln_1"]), partial(multi_head_attention, params=params["attention"], n_heads=n_heads, mask=mask)),
        residual(partial(layer_norm, **params["ln_2"]), partial(feed_forward, params=params["feed_forward"])),
    )(x)
