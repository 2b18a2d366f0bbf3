import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    # slot 0: how many tokens; then a pair per layer
    return [0] + [None] * n_layers


def decoder_step(tokens_new, cache, params, n_heads):
    old = cache[0]
    new = old + tokens_new.shape[-1]
    if new > params["position"].shape[0]:
        raise ValueError("tokens_new: longer than T_max")
    x = params["embedding"].take(tokens_new, axis=0)
    x += params["position"][old:new]
    mask = causal_mask(new - old, new)
    after = [new]
    for p, pair in zip(params["blocks"], cache[1:]):
        a = p["attention"]
        h = layer_norm(x, p["ln_1"]["gain"], p["ln_1"]["bias"])
        q = split_heads(np.dot(h, a["w_q"]) + a["b_q"], n_heads)
        k = split_heads(np.dot(h, a["w_k"]) + a["b_k"], n_heads)
        v = split_heads(np.dot(h, a["w_v"]) + a["b_v"], n_heads)
        if pair is not None:
            k = np.concatenate((pair[0], k), -2)
            v = np.concatenate((pair[1], v), -2)
        after.append((k, v))
        x += np.dot(merge_heads(attention(q, k, v, mask)), a["w_o"]) + a["b_o"]
        x += feed_forward(layer_norm(x, p["ln_2"]["gain"], p["ln_2"]["bias"]), p["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return np.dot(x, params["embedding"].transpose()), after


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new: too long in all")
    if temperature > 0 and u is None:
        raise ValueError("u is missing")
    text = np.zeros(prompt.shape[:-1] + (T + n_new,), prompt.dtype)
    text[..., :T] = prompt
    cache = new_decoder_cache(len(params["blocks"]))
    done = 0
    for t in range(T, T + n_new):
        logits, cache = decoder_step(text[..., done:t], cache, params, n_heads)
        ut = None
        if u is not None:
            ut = u[..., t - T]
        text[..., t] = sample_token(logits[..., -1, :], ut, temperature, top_k)
        done = t
    return text
