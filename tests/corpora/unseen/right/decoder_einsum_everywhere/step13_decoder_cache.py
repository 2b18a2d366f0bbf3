import numpy as np
from numpy import einsum
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step08_generation import sample_token
from exercises.step09_heads import _project
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    return {"length": 0}              # then (layer, "k") and (layer, "v")

def decoder_step(tokens_new, cache, params, n_heads):
    E, P = params["embedding"], params["position"]
    t0, t1 = cache["length"], cache["length"] + tokens_new.shape[-1]
    if t1 > P.shape[0]:
        raise ValueError("tokens_new")
    out = {"length": t1}
    x = E[tokens_new] + P[t0:t1]
    mask = causal_mask(t1 - t0, t1)
    for layer, block in enumerate(params["blocks"]):
        p, y = block["attention"], layer_norm(x, **block["ln_1"])
        q = _project(y, p["w_q"], p["b_q"], n_heads)
        for name in "kv":
            fresh = _project(y, p["w_" + name], p["b_" + name], n_heads)
            seen = cache.get((layer, name))
            out[layer, name] = fresh if seen is None else np.concatenate((seen, fresh), axis=-2)
        s = einsum("...hqd,...hkd->...hqk", q, out[layer, "k"]) / np.sqrt(q.shape[-1])
        o = einsum("...hqk,...hkd->...hqd", softmax(apply_mask(s, mask)), out[layer, "v"])
        x = x + einsum("...hqd,hdm->...qm", o, p["w_o"].reshape(n_heads, -1, E.shape[1])) + p["b_o"]
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    return einsum("...tm,vm->...tv", layer_norm(x, **params["ln_f"]), E), out

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    out = new = prompt.astype(np.int64)
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        new = np.asarray(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k))[..., None]
        out = np.concatenate((out, new), axis=-1)
    return out
