from exercises import torchlike as torch
from exercises.step07_kv_cache import DynamicCache
from exercises.step08_generation import sample_token
from exercises.step12_decoder import forward


class Cache(list):
    seen = 0


def new_decoder_cache(n_layers):
    return Cache(DynamicCache() for _ in range(n_layers))


def decoder_step(tokens_new, cache, params, n_heads):
    logits = forward(tokens_new, params, n_heads, pasts=cache, start=cache.seen)
    cache.seen += torch.size(tokens_new, -1)
    return logits, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if torch.size(prompt, -1) + n_new > torch.size(params["position"], 0):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    idx = prompt.copy()
    past = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        idx_cond = idx if i == 0 else idx[..., -1:]
        logits, past = decoder_step(idx_cond, past, params, n_heads)
        idx_next = sample_token(logits[..., -1, :], u if u is None else u[..., i], temperature, top_k)
        idx = torch.cat((idx, torch.unsqueeze(idx_next, -1)), dim=-1)
    return idx
