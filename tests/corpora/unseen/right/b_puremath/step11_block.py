import math

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


def _norm(row, gain, bias, eps):
    n = len(row)
    mu = math.fsum(row) / n
    var = math.fsum((x - mu) * (x - mu) for x in row) / n
    s = math.sqrt(var + eps)
    return [(x - mu) / s * g + b for x, g, b in zip(row, gain, bias)]


def layer_norm(x, gain, bias, eps=1e-5):
    g, b = gain.tolist(), bias.tolist()

    def walk(z):
        return [walk(y) for y in z] if isinstance(z[0], list) else _norm(z, g, b, eps)

    import numpy

    return numpy.array(walk(x.tolist()))


def _gelu(x):
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu(x):
    def walk(z):
        return [walk(y) for y in z] if isinstance(z, list) else _gelu(z)

    import numpy

    return numpy.array(walk(x.tolist()))


def feed_forward(x, params):
    return linear(gelu(linear(x, params["w_in"], params["b_in"])), params["w_out"], params["b_out"])


def decoder_block(x, params, n_heads, mask):
    ln1, ln2 = params["ln_1"], params["ln_2"]
    x = x + multi_head_attention(layer_norm(x, ln1["gain"], ln1["bias"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, ln2["gain"], ln2["bias"]), params["feed_forward"])
