import numpy as np

from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    # cache[layer] is a list with one (k, v) per token; the last entry counts
    return [[] for _ in range(n_layers)] + [0]


def decoder_step(tokens_new, cache, params, n_heads):
    t_new = tokens_new.shape[-1]
    if cache[-1] + t_new > params["position"].shape[0]:
        raise ValueError("tokens_new")
    out = [_one(tokens_new[..., t], cache, params, n_heads) for t in range(t_new)]
    return np.stack(out, axis=-2), cache


def _one(ids, cache, params, n_heads):
    x = (params["embedding"][ids] + params["position"][cache[-1]])[..., None, :]
    cache[-1] += 1
    for block, rows in zip(params["blocks"], cache):
        p = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        rows.append((h @ p["w_k"] + p["b_k"], h @ p["w_v"] + p["b_v"]))
        q = split_heads(h @ p["w_q"] + p["b_q"], n_heads)
        k = split_heads(np.concatenate([r[0] for r in rows], axis=-2), n_heads)
        v = split_heads(np.concatenate([r[1] for r in rows], axis=-2), n_heads)
        x = x + merge_heads(attention(q, k, v)) @ p["w_o"] + p["b_o"]
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x[..., 0, :] @ params["embedding"].T


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    columns = [prompt[..., t] for t in range(prompt.shape[-1])]
    fed = 0
    for i in range(n_new):
        logits, cache = decoder_step(np.stack(columns[fed:], axis=-1), cache, params, n_heads)
        fed = len(columns)
        columns.append(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k))
    return np.stack(columns, axis=-1)
