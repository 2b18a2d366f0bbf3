from dataclasses import dataclass, field
import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import MultiHead
from exercises.step11_block import Block
from exercises.step12_decoder import embed, head

@dataclass
class Layer:
    keys: list = field(default_factory=list)
    values: list = field(default_factory=list)

    def extend(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return np.concatenate(self.keys, axis=-2), np.concatenate(self.values, axis=-2)

class DecoderCache:
    def __init__(self, n_layers):
        self.length = 0
        self.layers = [Layer() for _ in range(n_layers)]

def new_decoder_cache(n_layers):
    return DecoderCache(n_layers)

def decoder_step(tokens_new, cache, params, n_heads):
    x = embed(tokens_new, params, cache.length)
    t_new = tokens_new.shape[-1]
    cache.length += t_new
    mask = causal_mask(t_new, cache.length)
    for block, layer in zip(params["blocks"], cache.layers):
        heads = MultiHead(block["attention"], n_heads)

        def attend(y):
            k, v = layer.extend(heads.project("k", y), heads.project("v", y))
            return heads.output(attention(heads.project("q", y), k, v, mask))

        x = Block(block).run(x, attend)
    return head(x, params), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new: longer than T_max in all")
    if temperature > 0 and u is None:
        raise ValueError("u is needed when temperature > 0")
    text = np.array(prompt, dtype=np.int64)
    if n_new == 0:
        return text
    logits, cache = decoder_step(prompt, new_decoder_cache(len(params["blocks"])), params, n_heads)
    for i in range(n_new):
        token = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        text = np.append(text, np.expand_dims(token, -1), axis=-1)
        if i < n_new - 1:
            logits, cache = decoder_step(text[..., -1:], cache, params, n_heads)
    return text
