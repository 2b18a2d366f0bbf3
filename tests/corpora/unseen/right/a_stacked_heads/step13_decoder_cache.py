import numpy as np
from exercises.step08_generation import sample_token
from exercises.step09_heads import project_kv
from exercises.step12_decoder import run


class LayerMemory:
    """one pair for each head"""

    def __init__(self):
        self.heads = {}

    def __call__(self, h, s, x, p):
        new = project_kv(x, p, s)
        if h in self.heads:
            new = tuple(np.concatenate(pair, axis=-2) for pair in zip(self.heads[h], new))
        self.heads[h] = new
        return new


class Memory(list):
    def __init__(self, n_layers):
        super().__init__(LayerMemory() for _ in range(n_layers))
        self.n = 0


new_decoder_cache = Memory


def decoder_step(tokens_new, cache, params, n_heads):
    t = tokens_new.shape[-1]
    mask = np.arange(cache.n + t) <= np.arange(cache.n, cache.n + t)[:, None]
    logits = run(tokens_new, params, n_heads, mask, cache.n, cache)
    cache.n += t
    return logits, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.empty(prompt.shape[:-1] + (t + n_new,), dtype=prompt.dtype)
    text[..., :t] = prompt
    memory = new_decoder_cache(len(params["blocks"]))
    for i in range(t, t + n_new):
        logits, memory = decoder_step(text[..., memory.n:i], memory, params, n_heads)
        text[..., i] = sample_token(logits[..., -1, :], u if u is None else u[..., i - t], temperature, top_k)
    return text
