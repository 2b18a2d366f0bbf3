import numpy as np
from exercises.step09_heads import split_heads

class Shift:
    def __init__(self, start): self.start = start
    def __rshift__(self, tokens): return np.concatenate((np.full_like(tokens[..., :1], self.start), tokens[..., :-1]), axis=-1)

def shift_right(tokens, start_id):
    return Shift(start_id) >> tokens

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    """Keys and queries are never made: x (W_q W_kT) memoryT, with biases as a feature that is 1."""
    one = lambda a: np.concatenate([a, np.ones(a.shape[:-1] + (1,))], axis=-1)
    aug = lambda n: np.vstack([params["w_" + n], params["b_" + n]])
    c = x.shape[-1] // n_heads
    out = np.zeros(x.shape)
    for h in range(n_heads):
        cols = slice(h * c, (h + 1) * c)
        bilinear = aug("q")[:, cols] @ aug("k")[:, cols].T / np.sqrt(c)
        s = one(x) @ bilinear @ np.swapaxes(one(memory), -1, -2)
        if memory_mask is not None:
            s = np.where(memory_mask, s, -np.inf)
        e = np.exp(s - np.maximum(s.max(-1, keepdims=True), -1e9))
        z = e.sum(-1, keepdims=True)
        w = e / (z + (z == 0))
        out += w @ (one(memory) @ (aug("v")[:, cols] @ params["w_o"][cols]))
    return out + params["b_o"]
