import numpy as np

from exercises.tape import softmax


def attention(q, k, v, mask=None):
    s = (q @ k.swap(-1, -2)) / np.sqrt(q.shape[-1])
    return softmax(s if mask is None else s.only(mask)) @ v


def layer_norm(x, gain, bias, eps=1e-5):
    c = x - x.mean()
    return c / ((c * c).mean() + eps).sqrt() * gain + bias


def gelu(x):
    return x * 0.5 * (1.0 + ((x + x * x * x * 0.044715) * np.sqrt(2 / np.pi)).tanh())


def feed_forward(x, p):
    return gelu(x @ p["w_in"] + p["b_in"]) @ p["w_out"] + p["b_out"]


def heads(x, n_heads, mask, p):
    *batch, t, d = x.shape
    if d % n_heads:
        raise ValueError("n_heads")
    if mask is not None and np.ndim(mask) > 1:
        mask = np.expand_dims(mask, -3)
    q, k, v = ((x @ p["w_" + c] + p["b_" + c]).reshape(*batch, t, n_heads, d // n_heads).swap(-2, -3) for c in "qkv")
    return attention(q, k, v, mask).swap(-2, -3).reshape(*batch, t, d) @ p["w_o"] + p["b_o"]


def block(x, p, n_heads, mask):
    x = x + heads(layer_norm(x, **p["ln_1"]), n_heads, mask, p["attention"])
    return x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])


def cross_entropy(logits, targets, ignore_id):
    counts = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if not counts.any():
        raise ValueError("targets: all ignored")
    where = np.nonzero(counts)
    z = logits[where]
    z = z - z.value.max(-1, keepdims=True)
    n = len(where[0])
    nll = z.exp().sum().log() - z[np.arange(n), targets[where]].reshape(n, 1)
    return nll.sum(axis=0).reshape() / n
