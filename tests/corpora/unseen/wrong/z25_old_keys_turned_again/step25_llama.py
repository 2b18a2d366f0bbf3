import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention, repeat_heads


def rms_norm(x, gain, eps=1e-5):
    return x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps) * gain


def _silu(z):
    e = np.exp(-np.abs(z))
    return z * np.where(z >= 0, 1.0, e) / (1.0 + e)


def swiglu(x, params):
    return (_silu(x @ params["w_gate"]) * (x @ params["w_up"])) @ params["w_down"]


def llama_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    x = x + grouped_query_attention(
        rms_norm(x, params["norm_1"], eps), params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


def llama_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    tokens = np.asarray(tokens)
    t = tokens.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    angles = rotary_angles(np.arange(t), d_head, base)
    x = params["embedding"][tokens]
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, causal_mask(t), angles, eps)
    return rms_norm(x, params["norm_f"], eps) @ params["w_out"]


def new_llama_cache(n_layers):
    return {"length": 0, "layers": [None] * n_layers}


def llama_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    tokens_new = np.asarray(tokens_new)
    past = cache["length"]
    now = past + tokens_new.shape[-1]
    width = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    angles = rotary_angles(np.arange(now), width, base)
    group = n_heads // n_kv_heads
    x = params["embedding"][tokens_new]
    stored = []
    for block, old in zip(params["blocks"], cache["layers"]):
        weights = block["attention"]
        h = rms_norm(x, block["norm_1"], eps)
        q = split_heads(h @ weights["w_q"], n_heads)
        k = split_heads(h @ weights["w_k"], n_kv_heads)
        v = split_heads(h @ weights["w_v"], n_kv_heads)
        if old is not None:
            k = np.concatenate([old[0], k], axis=-2)
            v = np.concatenate([old[1], v], axis=-2)
        q = rotate(q, angles[past:])
        k = rotate(k, angles)
        stored.append((k, v))
        heads = attention(q, repeat_heads(k, group), repeat_heads(v, group), causal_mask(now - past, now))
        x = x + merge_heads(heads) @ weights["w_o"]
        x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])
    return rms_norm(x, params["norm_f"], eps) @ params["w_out"], {"length": now, "layers": stored}
