import numpy as np
from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm
from exercises.step12_decoder import decoder_logits


def new_decoder_cache(n_layers):
    return None

def decoder_step(tokens_new, cache, params, n_heads):
    text = tokens_new if cache is None else np.concatenate([cache, tokens_new], axis=-1)
    logits = decoder_logits(text, params, n_heads)
    return logits[..., text.shape[-1] - tokens_new.shape[-1]:, :], text.copy()

def _forward(ids, start, past, params, n_heads):
    x = params["embedding"][ids] + params["position"][start:start + ids.shape[-1]]
    present = []
    for i, block in enumerate(params["blocks"]):
        p, y = block["attention"], layer_norm(x, **block["ln_1"])
        q, k, v = (split_heads(linear(y, p["w_" + c], p["b_" + c]), n_heads) for c in "qkv")
        if past is not None:
            k, v = np.concatenate([past[i][0], k], -2), np.concatenate([past[i][1], v], -2)
        present.append((k, v))
        z = merge_heads(attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])))
        x = x + linear(z, p["w_o"], p["b_o"])
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    return np.inner(layer_norm(x[..., -1, :], **params["ln_f"]), params["embedding"]), present

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = prompt.astype(np.int64)
    past, read = None, 0
    while text.shape[-1] < T + n_new:
        i = text.shape[-1] - T
        logits, past = _forward(text[..., read:], read, past, params, n_heads)
        read = text.shape[-1]
        token = sample_token(logits, None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(token)[..., None]], axis=-1)
    return text
