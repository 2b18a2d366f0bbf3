import numpy as np
from exercises.batching import back, flat
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class One:
    """the cache of one sequence"""

    def __init__(self, n_layers):
        self.n = 0
        self.k = [[] for _ in range(n_layers)]
        self.v = [[] for _ in range(n_layers)]

    def step(self, ids, params, n_heads):
        a, b = self.n, self.n + len(ids)
        x = params["embedding"][ids] + params["position"][a:b]
        for i, p in enumerate(params["blocks"]):
            w, h = p["attention"], layer_norm(x, **p["ln_1"])
            self.k[i].append(h @ w["w_k"] + w["b_k"])
            self.v[i].append(h @ w["w_v"] + w["b_v"])
            heads = [split_heads(z, n_heads) for z in (h @ w["w_q"] + w["b_q"], np.vstack(self.k[i]), np.vstack(self.v[i]))]
            x = x + merge_heads(attention(*heads, causal_mask(b - a, b))) @ w["w_o"] + w["b_o"]
            x = x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])
        self.n = b
        return layer_norm(x, **params["ln_f"]) @ params["embedding"].T


def new_decoder_cache(n_layers):
    return {"n_layers": n_layers, "n": 0, "sequences": None}


def decoder_step(tokens_new, cache, params, n_heads):
    if cache["n"] + tokens_new.shape[-1] > params["position"].shape[0]:
        raise ValueError("tokens_new")
    ids = flat(tokens_new, 1)
    if cache["sequences"] is None:
        cache["sequences"] = [One(cache["n_layers"]) for _ in ids]
    logits = np.array([one.step(i, params, n_heads) for one, i in zip(cache["sequences"], ids)])
    cache["n"] += tokens_new.shape[-1]
    return back(logits, tokens_new.shape[:-1]), cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    text, new = prompt.copy(), prompt
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        new = np.expand_dims(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k), -1)
        text = np.concatenate([text, new], axis=-1)
    return text
