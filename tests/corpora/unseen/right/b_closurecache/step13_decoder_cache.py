import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import new_cache
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    layers = [new_cache() for _ in range(n_layers)]
    length = 0

    def step(tokens, params, n_heads):
        nonlocal length
        t = tokens.shape[-1]
        if length + t > len(params["position"]):
            raise ValueError("tokens_new")
        x = params["embedding"][tokens] + params["position"][length : length + t]
        length += t
        for block, extend in zip(params["blocks"], layers):
            a = block["attention"]
            h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
            q, k, v = [split_heads(h @ a["w_" + n] + a["b_" + n], n_heads) for n in "qkv"]
            k, v = extend(k, v)
            x = x + merge_heads(attention(q, k, v, causal_mask(t, length))) @ a["w_o"] + a["b_o"]
            h = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
            x = x + feed_forward(h, block["feed_forward"])
        return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T

    return step


def decoder_step(tokens_new, cache, params, n_heads):
    return cache(tokens_new, params, n_heads), cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    step = new_decoder_cache(len(params["blocks"]))
    text, new = prompt.copy(), prompt
    for i in range(n_new):
        logits = step(new, params, n_heads)[..., -1, :]
        new = np.expand_dims(sample_token(logits, u[..., i] if u is not None else None, temperature, top_k), -1)
        text = np.concatenate([text, new], -1)
    return text
