import numpy as np
from exercises.step02_scores import attention_scores
from exercises.step04_softmax import softmax
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

class Cache:
    __slots__ = ("k", "v", "t")
    def __init__(self, k, v, t):
        self.k, self.v, self.t = k, v, t

def new_decoder_cache(n_layers):
    return Cache([None] * n_layers, [None] * n_layers, 0)

def _join(old, new):
    return new if old is None else np.concatenate((old, new), axis=-2)

def decoder_step(tokens_new, cache, params, n_heads):
    T_new = tokens_new.shape[-1]
    total = cache.t + T_new
    if total > params["position"].shape[0]:
        raise ValueError("tokens_new")
    m = np.triu(np.full((T_new, total), -np.inf), k=cache.t + (cache.t == 0))
    x = params["embedding"][tokens_new] + params["position"][cache.t:total]
    ks, vs = [], []
    for b, old_k, old_v in zip(params["blocks"], cache.k, cache.v):
        p = b["attention"]
        y = layer_norm(x, **b["ln_1"])
        ks.append(_join(old_k, split_heads(y @ p["w_k"] + p["b_k"], n_heads)))
        vs.append(_join(old_v, split_heads(y @ p["w_v"] + p["b_v"], n_heads)))
        q = split_heads(y @ p["w_q"] + p["b_q"], n_heads)
        w = softmax(attention_scores(q, ks[-1]) + m)
        x = x + merge_heads(w @ vs[-1]) @ p["w_o"] + p["b_o"]
        x = x + feed_forward(layer_norm(x, **b["ln_2"]), b["feed_forward"])
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, Cache(ks, vs, total)

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    text = prompt.astype(np.int64)
    cache = new_decoder_cache(len(params["blocks"]))
    for t in range(T + n_new):
        if t >= T:
            ids = sample_token(logits[..., 0, :], None if u is None else u[..., t - T], temperature, top_k)
            text = np.concatenate((text, np.asarray(ids)[..., None]), axis=-1)
        if t < T + n_new - 1 and n_new > 0:
            logits, cache = decoder_step(text[..., t:t + 1], cache, params, n_heads)
    return text
