import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention, repeat_heads


def rms_norm(x, gain, eps=1e-5):
    return x * (1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)) * gain


def silu(x):
    return x * 0.5 * (1 + np.tanh(0.5 * x))


def swiglu(x, params):
    return (silu(x @ params["w_gate"]) * (x @ params["w_up"])) @ params["w_down"]


def llama_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    h = x + grouped_query_attention(rms_norm(x, params["norm_1"], eps), params["attention"], n_heads, n_heads, mask, angles)
    return h + swiglu(rms_norm(h, params["norm_2"], eps), params["feed_forward"])


def _d_head(params, n_heads):
    return params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads


def llama_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    T = tokens.shape[-1]
    freqs_cis = rotary_angles(np.arange(T), _d_head(params, n_heads), base)
    h = params["embedding"][tokens]
    for layer in params["blocks"]:
        h = llama_block(h, layer, n_heads, n_kv_heads, causal_mask(T), freqs_cis, eps)
    return rms_norm(h, params["norm_f"], eps) @ params["w_out"]


def new_llama_cache(n_layers):
    return {"start_pos": 0, "layers": [None] * n_layers}


def llama_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    t = tokens_new.shape[-1]
    start = cache["start_pos"]
    ang = rotary_angles(np.arange(start, start + t), _d_head(params, n_heads), base)
    h = params["embedding"][tokens_new]
    mask = causal_mask(t, start + t)

    def heads(z, n):
        z = z.reshape(*z.shape[:-1], n, z.shape[-1] // n)
        return np.swapaxes(z, -2, -3)

    layers = []
    for past, blk in zip(cache["layers"], params["blocks"]):
        a = blk["attention"]
        z = rms_norm(h, blk["norm_1"], eps)
        q = rotate(heads(z @ a["w_q"], n_heads), ang)
        k = rotate(heads(z @ a["w_k"], n_kv_heads), ang)
        v = heads(z @ a["w_v"], n_kv_heads)
        if past is not None:
            k = np.concatenate([past[0], k], -2)
            v = np.concatenate([past[1], v], -2)
        layers.append((k, v))
        r = n_heads // n_kv_heads
        o = attention(q, repeat_heads(k, r), repeat_heads(v, r), mask)
        o = np.swapaxes(o, -2, -3)
        h = h + o.reshape(*o.shape[:-2], -1) @ a["w_o"]
        h = h + swiglu(rms_norm(h, blk["norm_2"], eps), blk["feed_forward"])
    return rms_norm(h, params["norm_f"], eps) @ params["w_out"], {"start_pos": start + t, "layers": layers}
