import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import new_cache
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    # ((chain, (chain, ... None)), tokens seen)
    chains = None
    for _ in range(n_layers):
        chains = (new_cache(), chains)
    return chains, 0


def _through(x, blocks, chains, n_heads):
    """the layers recursively; returns x and the new list of chains"""
    if chains is None:
        return x, None
    chain, rest = chains
    block, a = blocks[0], blocks[0]["attention"]
    h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
    q, k, v = [split_heads(h @ a["w_" + n] + a["b_" + n], n_heads) for n in ("q", "k", "v")]
    chain = chain.push(k, v)
    seen = attention(q, chain.keys, chain.values, causal_mask(q.shape[-2], len(chain)))
    x = x + (merge_heads(seen) @ a["w_o"] + a["b_o"])
    x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x, rest = _through(x, blocks[1:], rest, n_heads)
    return x, (chain, rest)


def decoder_step(tokens_new, cache, params, n_heads):
    chains, seen = cache
    total = seen + tokens_new.shape[-1]
    if total > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][seen:total]
    x, chains = _through(x, params["blocks"], chains, n_heads)
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, (chains, total)


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")

    pieces, cache = [prompt], new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = decoder_step(pieces[-1], cache, params, n_heads)
        new = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        pieces.append(np.expand_dims(new, -1))
    return np.concatenate(pieces, axis=-1)
