import numpy as np
from exercises.registry import open_handle, state
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return open_handle(length=0, layers=[open_handle(k=None, v=None) for _ in range(n_layers)])


def _remember(handle, **new):
    s = state(handle)
    for name, rows in new.items():
        s[name] = rows if s[name] is None else np.concatenate((s[name], rows), axis=-2)
    return s["k"], s["v"]


def decoder_step(tokens_new, cache, params, n_heads):
    s = state(cache)
    a, b = s["length"], s["length"] + tokens_new.shape[-1]
    if b > params["position"].shape[0]:
        raise ValueError("tokens_new")
    s["length"] = b
    x = params["embedding"][tokens_new] + params["position"][a:b]
    for handle, p in zip(s["layers"], params["blocks"]):
        w, h = p["attention"], layer_norm(x, **p["ln_1"])
        k, v = _remember(handle, **{c: split_heads(h @ w["w_" + c] + w["b_" + c], n_heads) for c in "kv"})
        q = split_heads(h @ w["w_q"] + w["b_q"], n_heads)
        x = x + merge_heads(attention(q, k, v, causal_mask(b - a, b))) @ w["w_o"] + w["b_o"]
        x = x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    handle, text = new_decoder_cache(len(params["blocks"])), prompt.copy()
    for i in range(n_new):
        logits, handle = decoder_step(text[..., state(handle)["length"]:], handle, params, n_heads)
        ids = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text
