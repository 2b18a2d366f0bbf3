import numpy as np

from exercises.step05_output import attention
from exercises.step07_kv_cache import Memory
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class Memories:
    def __init__(self, n):
        self.count = 0
        self.items = [Memory() for _ in range(n)]

    def __len__(self):
        return self.count

    def __getitem__(self, layer):
        return self.items[layer]


def new_decoder_cache(n_layers):
    return Memories(n_layers)


def decoder_step(tokens_new, cache, params, n_heads):
    old, new = len(cache), tokens_new.shape[-1]
    if old + new > params["position"].shape[0]:
        raise ValueError("tokens_new")
    pos = np.arange(old, old + new)
    mask = np.arange(old + new) <= pos[:, None]
    x = params["embedding"][tokens_new] + params["position"][pos]
    for layer, p in enumerate(params["blocks"]):
        a, memory = p["attention"], cache[layer]
        h = layer_norm(x, p["ln_1"]["gain"], p["ln_1"]["bias"])
        q, k, v = (split_heads(h @ a["w_" + s] + a["b_" + s], n_heads) for s in "qkv")
        memory += (k, v)
        x = x + merge_heads(attention(q, memory[0], memory[1], mask)) @ a["w_o"] + a["b_o"]
        x = x + feed_forward(layer_norm(x, p["ln_2"]["gain"], p["ln_2"]["bias"]), p["feed_forward"])
    cache.count += new
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("too long for T_max: n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    tokens = prompt.copy()
    for i in range(n_new):
        logits, cache = decoder_step(tokens[..., len(cache) :], cache, params, n_heads)
        ids = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        tokens = np.concatenate([tokens, np.asarray(ids)[..., None]], axis=-1)
    return tokens
