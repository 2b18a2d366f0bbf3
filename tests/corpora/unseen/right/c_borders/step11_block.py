"""A subclass of ndarray; a mask is always given to a block."""
import numpy as np

class Tensor(np.ndarray):
    def __array_finalize__(self, other): self.name = getattr(other, "name", None)

def tensor(a): return np.asarray(a, dtype=np.float64).view(Tensor)

class ShapeError(ValueError): ...

def layer_norm(x, gain, bias, eps=1e-5):
    x = tensor(x)
    x = x - x.mean(-1, keepdims=True)
    return x / ((x ** 2).mean(-1, keepdims=True) + eps) ** 0.5 * gain + bias

def gelu(x):
    x = tensor(x)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))

def feed_forward(x, params):
    return gelu(tensor(x) @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def attention(x, p, n_heads, mask):
    if x.shape[-1] % n_heads: raise ShapeError("n_heads")
    cut = lambda a: a.reshape(*a.shape[:-1], n_heads, -1).swapaxes(-2, -3)
    q, k, v = (cut(x @ p["w_" + c] + p["b_" + c]) for c in "qkv")
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s = np.where(mask[..., None, :, :], s, -np.inf)
    w = np.exp(s - np.maximum(s.max(-1, keepdims=True), np.finfo(float).min))
    y = (w @ v / np.maximum(w.sum(-1, keepdims=True), 1e-300)).swapaxes(-2, -3)
    return y.reshape(x.shape) @ p["w_o"] + p["b_o"]

def decoder_block(x, params, n_heads, mask):
    x = tensor(x)
    x = x + attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, **params["ln_2"]), params["feed_forward"])
