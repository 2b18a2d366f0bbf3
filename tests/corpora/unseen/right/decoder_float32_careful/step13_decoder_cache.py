from typing import NamedTuple
import numpy as np
from numpy.typing import NDArray
from exercises.step03_mask import causal_mask
from exercises.step08_generation import sample_token
from exercises.step09_heads import fused_qkv, heads_attend, merge_heads
from exercises.step11_block import feed_forward, layer_norm

class KV(NamedTuple):
    k: NDArray
    v: NDArray

def new_decoder_cache(n_layers: int) -> list[KV | None]:
    return [None] * n_layers

def decoder_step(tokens_new: NDArray, cache: list, params: dict, n_heads: int):
    past = cache[0].k.shape[-2] if cache[0] is not None else 0
    T = tokens_new.shape[-1]
    if past + T > params["position"].shape[0]:
        raise ValueError("tokens_new: more than T_max in all")
    x = params["embedding"].take(tokens_new, axis=0) + params["position"][past:past + T]
    mask = None if T == 1 else causal_mask(T, past + T)          # one new token may see everything
    fresh = []
    for block, kv in zip(params["blocks"], cache, strict=True):
        q, k, v = fused_qkv(layer_norm(x, **block["ln_1"]), block["attention"], n_heads)
        if kv is not None:
            k, v = np.concatenate((kv.k, k), axis=-2), np.concatenate((kv.v, v), axis=-2)
        fresh.append(KV(k, v))
        x = x + merge_heads(heads_attend(q, k, v, mask)) @ block["attention"]["w_o"] + block["attention"]["b_o"]
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, fresh

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None) -> NDArray:
    if temperature > 0 and u is None:
        raise ValueError("u: needed to sample")
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new: prompt and continuation exceed T_max")
    ids = prompt.astype(np.int64)
    cache, waiting = new_decoder_cache(len(params["blocks"])), ids
    for i in range(n_new):
        logits, cache = decoder_step(waiting, cache, params, n_heads)
        waiting = np.expand_dims(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k), -1)
        ids = np.concatenate((ids, waiting), axis=-1)
    return ids
