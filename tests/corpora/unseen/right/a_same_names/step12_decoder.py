import numpy as np


def linear(x, params, name):
    return x @ params["w_" + name] + params["b_" + name]


def softmax(scores):
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(top > -np.inf, top, 0)
    e = np.exp(scores - top)
    z = e.sum(axis=-1, keepdims=True)
    return e / np.where(z > 0, z, 1)


def layer_norm(x, p):
    c = x - x.mean(axis=-1, keepdims=True)
    return c / np.sqrt(np.mean(c ** 2, axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]


def split_heads(x, n):
    """heads first of all"""
    if x.shape[-1] % n:
        raise ValueError("n_heads")
    return np.stack(np.split(x, n, axis=-1))


def merge_heads(x):
    return np.concatenate(list(x), axis=-1)


def attention(x, p, n, mask, past=None):
    q, k, v = (split_heads(linear(x, p, c), n) for c in "qkv")
    if past is not None:
        if past:
            k, v = np.concatenate([past[0], k], -2), np.concatenate([past[1], v], -2)
        past[:] = [k, v]
    s = np.where(mask, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    return linear(merge_heads(softmax(s) @ v), p, "o")


def feed_forward(x, p):
    h = linear(x, p, "in")
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h ** 3)))
    return linear(h, p, "out")


def decoder_block(x, p, n, mask, past=None):
    x = x + attention(layer_norm(x, p["ln_1"]), p["attention"], n, mask, past)
    return x + feed_forward(layer_norm(x, p["ln_2"]), p["feed_forward"])


def forward(tokens, params, n, mask, pasts, start):
    stop = start + tokens.shape[-1]
    if stop > len(params["position"]):
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][start:stop]
    for i, p in enumerate(params["blocks"]):
        x = decoder_block(x, p, n, mask, None if pasts is None else pasts[i])
    return layer_norm(x, params["ln_f"]) @ params["embedding"].T


def decoder_logits(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.tri(t, dtype=bool)
    return forward(tokens, params, n_heads, mask if padding is None else mask & padding, None, 0)
