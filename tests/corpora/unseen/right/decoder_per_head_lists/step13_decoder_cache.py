import numpy as np
from exercises.step04_softmax import softmax
from exercises.step08_generation import sample_token
from exercises.step09_heads import head_slices
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    return [[] for _ in range(n_layers)]       # per layer: one pair (keys, values) of lists per head

def _read_one(token, cache, params, n_heads):
    """token (...) -> logits (..., V)"""
    t = len(cache[0][0][0]) if cache[0] else 0
    x = params["embedding"][token] + params["position"][t]
    for block, heads in zip(params["blocks"], cache):
        p = block["attention"]
        y = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        if not heads:
            heads.extend(([], []) for _ in range(n_heads))
        x = x + p["b_o"]
        for s, (keys, values) in zip(head_slices(y.shape[-1], n_heads), heads):
            q = y @ p["w_q"][:, s] + p["b_q"][s]
            keys.append(y @ p["w_k"][:, s] + p["b_k"][s])
            values.append(y @ p["w_v"][:, s] + p["b_v"][s])
            w = softmax(np.stack([(q * k).sum(-1) for k in keys], -1) / np.sqrt(q.shape[-1]))
            x = x + sum(w[..., j, None] * v for j, v in enumerate(values)) @ p["w_o"][s]
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T

def decoder_step(tokens_new, cache, params, n_heads):
    seen = len(cache[0][0][0]) if cache[0] else 0
    if seen + tokens_new.shape[-1] > params["position"].shape[0]:
        raise ValueError("tokens_new")
    rows = [_read_one(tokens_new[..., t], cache, params, n_heads) for t in range(tokens_new.shape[-1])]
    return np.stack(rows, axis=-2), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = [prompt[..., t].astype(np.int64) for t in range(prompt.shape[-1])]
    cache = new_decoder_cache(len(params["blocks"]))
    unread = list(text)
    for i in range(n_new):
        for token in unread:
            logits = _read_one(token, cache, params, n_heads)
        unread = [np.asarray(sample_token(logits, None if u is None else u[..., i], temperature, top_k))]
        text += unread
    return np.stack(text, axis=-1)
