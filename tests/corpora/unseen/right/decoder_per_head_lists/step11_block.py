import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    features = [x[..., i] for i in range(x.shape[-1])]
    mean = sum(features) / len(features)
    var = sum((f - mean) * (f - mean) for f in features) / len(features)
    root = (var + eps) ** 0.5
    return np.stack([(f - mean) / root * g + b for f, g, b in zip(features, gain, bias)], axis=-1)

def gelu(x):
    # 0.5 (1 + tanh z) = 1 / (1 + exp(-2 z))
    z = 2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)
    e = np.exp(-np.abs(z))
    return x * np.where(z >= 0, 1, e) / (1 + e)

def feed_forward(x, params):
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def decoder_block(x, params, n_heads, mask):
    one, two = params["ln_1"], params["ln_2"]
    attended = x + multi_head_attention(layer_norm(x, one["gain"], one["bias"]), params["attention"], n_heads, mask)
    return attended + feed_forward(layer_norm(attended, two["gain"], two["bias"]), params["feed_forward"])
