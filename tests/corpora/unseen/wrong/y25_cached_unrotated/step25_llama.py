import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention, repeat_heads


def rms_norm(x, gain, eps=1e-5):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain


def silu(z):
    e = np.exp(-np.abs(z))
    return z * np.where(z >= 0, 1 / (1 + e), e / (1 + e))


def swiglu(x, params):
    return (silu(x @ params["w_gate"]) * (x @ params["w_up"])) @ params["w_down"]


def llama_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    h = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(h, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


def llama_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    tokens = np.asarray(tokens)
    t = tokens.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[1] // n_heads
    angles = rotary_angles(np.arange(t), d_head, base)
    mask = causal_mask(t)
    x = params["embedding"][tokens]
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return rms_norm(x, params["norm_f"], eps) @ params["w_out"]


def new_llama_cache(n_layers):
    return {"n": 0, "layers": [None] * n_layers}


def llama_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    T, n = tokens_new.shape[-1], cache["n"]
    dh = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    ang = rotary_angles(np.arange(n, n + T), dh, base)
    h = params["embedding"][tokens_new]
    r = n_heads // n_kv_heads
    for i, b in enumerate(params["blocks"]):
        p = b["attention"]
        z = rms_norm(h, b["norm_1"], eps)
        q = rotate(split_heads(z @ p["w_q"], n_heads), ang)
        k0 = split_heads(z @ p["w_k"], n_kv_heads)
        v = split_heads(z @ p["w_v"], n_kv_heads)
        k = rotate(k0, ang)
        if cache["layers"][i] is not None:
            k = np.concatenate([cache["layers"][i][0], k], -2)
            k0 = np.concatenate([cache["layers"][i][0], k0], -2)
            v = np.concatenate([cache["layers"][i][1], v], -2)
        cache["layers"][i] = (k0, v)
        o = attention(q, repeat_heads(k, r), repeat_heads(v, r), causal_mask(T, n + T))
        h = h + merge_heads(o) @ p["w_o"]
        h = h + swiglu(rms_norm(h, b["norm_2"], eps), b["feed_forward"])
    cache["n"] += T
    return rms_norm(h, params["norm_f"], eps) @ params["w_out"], cache
