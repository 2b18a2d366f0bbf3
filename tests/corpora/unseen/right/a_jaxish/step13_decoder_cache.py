import numpy as jnp
from exercises.minijax import scan, tree_map
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"index": 0, "layers": [{} for _ in range(n_layers)]}


def _attend(p, h, layer, index, n_heads):
    proj = {c: split_heads(h @ p["w_" + c] + p["b_" + c], n_heads) for c in "qkv"}
    new = {"k": proj["k"], "v": proj["v"]}
    layer = tree_map(lambda a, b: jnp.concatenate([a, b], axis=-2), layer, new) if layer else new
    where = jnp.arange(layer["k"].shape[-2]) <= index + jnp.arange(h.shape[-2])[:, None]
    y = merge_heads(attention(proj["q"], layer["k"], layer["v"], where))
    return y @ p["w_o"] + p["b_o"], layer


def decoder_step(tokens_new, cache, params, n_heads):
    start, stop = cache["index"], cache["index"] + tokens_new.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][start:stop]
    layers = []
    for p, layer in zip(params["blocks"], cache["layers"]):
        a, layer = _attend(p["attention"], layer_norm(x, **p["ln_1"]), layer, start, n_heads)
        x = x + a
        x = x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])
        layers.append(layer)
    logits = layer_norm(x, **params["ln_f"]) @ params["embedding"].T
    return logits, {"index": stop, "layers": layers}


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")

    def step(carry, i):
        ids, cache = carry
        logits, cache = decoder_step(ids, cache, params, n_heads)
        new = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)[..., None]
        return (new, cache), new

    _, new = scan(step, (prompt, new_decoder_cache(len(params["blocks"]))), jnp.arange(n_new))
    return jnp.concatenate([prompt] + new, axis=-1)
