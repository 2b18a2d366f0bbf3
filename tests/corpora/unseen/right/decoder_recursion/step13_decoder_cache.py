import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import layer_norm, feed_forward, residual

# a cache is immutable: (time, ((k, v), ((k, v), ... None)))

def new_decoder_cache(n_layers):
    def nest(n):
        return None if n == 0 else ((), nest(n - 1))
    return 0, nest(n_layers)

def _through(blocks, x, chain, n_heads, mask):
    """-> x after the blocks, the new chain"""
    if not blocks:
        return x, None
    block, (seen, rest) = blocks[0], chain
    p = block["attention"]
    kept = []
    def self_attention(z):
        y = layer_norm(z, **block["ln_1"])
        q, k, v = (split_heads(y @ p["w_" + c] + p["b_" + c], n_heads) for c in "qkv")
        pair = tuple(np.concatenate(two, axis=-2) for two in zip(seen, (k, v))) if seen else (k, v)
        kept.append(pair)
        return merge_heads(attention(q, *pair, mask)) @ p["w_o"] + p["b_o"]
    mlp = lambda z: feed_forward(layer_norm(z, **block["ln_2"]), block["feed_forward"])
    x, rest = _through(blocks[1:], residual(self_attention, mlp)(x), rest, n_heads, mask)
    return x, (kept[0], rest)

def decoder_step(tokens_new, cache, params, n_heads):
    t, chain = cache
    end = t + tokens_new.shape[-1]
    if end > len(params["position"]):
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][t:end]
    x, chain = _through(params["blocks"], x, chain, n_heads, causal_mask(end - t, end))
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, (end, chain)

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    def go_on(text, unread, cache, i):
        if i == n_new:
            return text
        logits, cache = decoder_step(unread, cache, params, n_heads)
        token = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        token = np.asarray(token)[..., None]
        return go_on(np.concatenate((text, token), axis=-1), token, cache, i + 1)
    return go_on(prompt.astype(np.int64), prompt, new_decoder_cache(len(params["blocks"])), 0)
