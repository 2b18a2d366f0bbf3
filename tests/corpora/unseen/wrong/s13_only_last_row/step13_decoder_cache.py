import numpy as np
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

# What is kept for a layer is the normalised input of its attention, one array per call of decoder_step;
# the query is folded through w_k and the average through w_v, so that no key or value is ever stored.

def new_decoder_cache(n_layers):
    return tuple([] for _ in range(n_layers))

def decoder_step(tokens_new, cache, params, n_heads):
    E, P = params["embedding"], params["position"]
    seen = sum(y.shape[-2] for y in cache[0])
    T = tokens_new.shape[-1]
    if seen + T > P.shape[0]:
        raise ValueError("tokens_new")
    x = E[tokens_new] + P[seen:seen + T]
    d = E.shape[1]
    mask = causal_mask(T, seen + T)
    for b, ys in zip(params["blocks"], cache):
        p = b["attention"]
        y = layer_norm(x, **b["ln_1"])
        ys.append(y)
        all_y = np.concatenate(ys, axis=-2)[..., None, :, :]
        q = split_heads(y @ p["w_q"] + p["b_q"], n_heads)
        w_k = split_heads(p["w_k"], n_heads)                     # (H, d_model, d_head)
        w_v = split_heads(p["w_v"], n_heads)
        s = q @ np.swapaxes(w_k, -1, -2) @ np.swapaxes(all_y, -1, -2) / np.sqrt(d // n_heads)
        w = softmax(apply_mask(s, mask))
        o = w @ all_y @ w_v + p["b_v"].reshape(n_heads, 1, -1)
        x = x + merge_heads(o) @ p["w_o"] + p["b_o"]
        x = x + feed_forward(layer_norm(x, **b["ln_2"]), b["feed_forward"])
    return layer_norm(x[..., -1:, :], **params["ln_f"]) @ E.T, cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = prompt.astype(np.int64)
    unread, cache = text, new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = decoder_step(unread, cache, params, n_heads)
        unread = np.asarray(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k))[..., None]
        text = np.concatenate([text, unread], axis=-1)
    return text
