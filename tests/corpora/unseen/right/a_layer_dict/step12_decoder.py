import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class Layer:
    def __init__(self, store=None):
        self.store = store          # None: nothing is remembered

    def bind(self, params, n_heads):
        self.params, self.n_heads = params, n_heads
        return self

    def project(self, h, which):
        a = self.params["attention"]
        return split_heads(h @ a["w_" + which] + a["b_" + which], self.n_heads)

    def keys_values(self, h):
        new = {which: self.project(h, which) for which in ("k", "v")}
        if self.store is None:
            return new
        for which, rows in new.items():
            old = self.store.get(which)
            self.store[which] = rows if old is None else np.concatenate([old, rows], axis=-2)
        return self.store

    def __call__(self, x, mask):
        p = self.params
        h = layer_norm(x, **p["ln_1"])
        kv = self.keys_values(h)
        y = merge_heads(attention(self.project(h, "q"), kv["k"], kv["v"], mask))
        x = x + (y @ p["attention"]["w_o"] + p["attention"]["b_o"])
        return x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])


def run(tokens, params, n_heads, layers, start, padding=None):
    stop = start + tokens.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    mask = causal_mask(stop - start, stop)
    if padding is not None:
        mask = mask & padding
    mask = np.expand_dims(mask, -3)
    x = params["embedding"][tokens] + params["position"][start:stop]
    for i, block in enumerate(params["blocks"]):
        x = layers[i].bind(block, n_heads)(x, mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T


def decoder_logits(tokens, params, n_heads, padding=None):
    layers = {i: Layer() for i in range(len(params["blocks"]))}
    return run(tokens, params, n_heads, layers, 0, padding)
