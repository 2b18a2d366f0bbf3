"""Right versions of step 25 in unusual style."""

import functools
import math

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention
from grader.answer_key.variants import fair


@fair("linalg", "rms_norm")
def norm_linalg(x, gain, eps=1e-5):
    """The length over √d, by np.linalg.norm; a reciprocal."""
    size = np.linalg.norm(x, axis=-1, keepdims=True) / math.sqrt(x.shape[-1])
    return gain * (x * np.reciprocal(np.sqrt(np.square(size) + eps)))


@fair("einsum", "rms_norm")
def norm_einsum(x, gain, eps=1e-5):
    """einsum for the squares, a power of -1/2."""
    square = np.einsum("...d,...d->...", x, x) / x.shape[-1]
    return np.einsum("...d,...,d->...d", x, (square + eps) ** -0.5, gain)


@fair("row_by_row", "rms_norm")
def norm_rows(x, gain, eps=1e-5):
    """One position after the other, with math.fsum."""
    y = np.empty(x.shape)
    for place in np.ndindex(*x.shape[:-1]):
        square = math.fsum(float(a) * float(a) for a in x[place]) / x.shape[-1]
        y[place] = x[place] / math.sqrt(square + eps) * gain
    return y


@fair("stable_sigmoid", "swiglu")
def swiglu_stable(x, params):
    """exp of what is never positive."""
    gate = x @ params["w_gate"]
    e = np.exp(-np.abs(gate))
    sigmoid = np.where(gate >= 0, 1, e) / (1 + e)
    return (gate * sigmoid * (x @ params["w_up"])) @ params["w_down"]


@fair("tanh", "swiglu")
def swiglu_tanh(x, params):
    """The sigmoid as a tanh; both maps in one product."""
    both = x @ np.concatenate([params["w_gate"], params["w_up"]], axis=1)
    gate, up = np.split(both, 2, axis=-1)
    return np.matmul(gate / 2 * (1 + np.tanh(gate / 2)) * up, params["w_down"])


@fair("unit_by_unit", "swiglu")
def swiglu_units(x, params):
    """One hidden unit after the other; logaddexp for the sigmoid."""
    y = 0.0
    for w_gate, w_up, w_down in zip(params["w_gate"].T, params["w_up"].T, params["w_down"]):
        gate = x @ w_gate
        hidden = gate * np.exp(-np.logaddexp(0, -gate)) * (x @ w_up)
        y = y + hidden[..., None] * w_down
    return y


@fair("new_names", "llama_block")
def block_in_steps(stream, layer, heads, kv_heads, allowed, turns, eps=1e-5):
    """Other names for everything that is passed by position; eps by keyword."""
    quiet = rms_norm(stream, layer["norm_1"], eps=eps)
    heard = grouped_query_attention(
        quiet, layer["attention"], heads, kv_heads, angles=turns, mask=allowed
    )
    middle = np.add(stream, heard)
    return np.add(middle, swiglu(rms_norm(middle, layer["norm_2"], eps=eps), layer["feed_forward"]))


@fair("reduce", "llama_logits")
def logits_reduce(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """functools.reduce over the blocks; angles from cumulated ones."""
    *_, t = np.shape(tokens)
    columns = params["blocks"][-1]["attention"]["w_q"].shape[1]
    angles = rotary_angles(np.cumsum(np.ones(t, dtype=int)) - 1, columns // n_heads, base=base)
    mask = np.tri(t, dtype=bool)

    def through(x, block):
        return llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)

    x = functools.reduce(through, params["blocks"], np.take(params["embedding"], tokens, axis=0))
    return np.einsum("...d,dv->...v", rms_norm(x, params["norm_f"], eps), params["w_out"])


@fair("step_without_past", "llama_logits")
def logits_by_step(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """The step with an empty cache."""
    cache = new_llama_cache(len(params["blocks"]))
    return llama_step(tokens, cache, params, n_heads, n_kv_heads, base, eps)[0]


def dict_by_layer(n_layers):
    """An empty dict; the layers' numbers will be its keys."""
    return {}


def list_of_lists(n_layers):
    """Chunks of keys and of values for each layer."""
    return [([], []) for _ in range(n_layers)]


def stable_weights(scores):
    """Softmax over the last axis."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def in_heads(x, weight, n):
    """Projected, (..., n, T, d_head)."""
    return np.moveaxis((x @ weight).reshape(*x.shape[:-1], n, -1), -2, -3)


@fair("unturned_keys", "llama_step", also={"new_llama_cache": "dict_by_layer"})
def step_unturned(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """Keys are kept as they were projected, and all of them are turned in each call."""
    x = params["embedding"][tokens_new]
    for number, block in enumerate(params["blocks"]):
        weights, normed = block["attention"], rms_norm(x, block["norm_1"], eps)
        k, v = (in_heads(normed, weights[name], n_kv_heads) for name in ("w_k", "w_v"))
        if number in cache:
            k, v = (np.concatenate([o, n], axis=-2) for o, n in zip(cache[number], (k, v)))
        cache[number] = k, v
        t, new = k.shape[-2], tokens_new.shape[-1]
        angles = rotary_angles(np.arange(t), k.shape[-1], base)
        q = rotate(in_heads(normed, weights["w_q"], n_heads), angles[t - new :])
        k, v = (np.repeat(part, n_heads // n_kv_heads, axis=-3) for part in (rotate(k, angles), v))
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        found = stable_weights(np.where(causal_mask(new, t), scores, -np.inf)) @ v
        x = x + np.moveaxis(found, -3, -2).reshape(*x.shape[:-1], -1) @ weights["w_o"]
        x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])
    return rms_norm(x, params["norm_f"], eps) @ params["w_out"], cache


@fair("token_by_token", "llama_step", also={"new_llama_cache": "list_of_lists"})
def step_token_by_token(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """One token after the other, without any mask; lists grow in place."""
    rows = []
    for i in range(tokens_new.shape[-1]):
        x = params["embedding"][tokens_new[..., i : i + 1]]
        for (keys, values), block in zip(cache, params["blocks"]):
            weights, normed = block["attention"], rms_norm(x, block["norm_1"], eps)
            q = in_heads(normed, weights["w_q"], n_heads)
            angle = rotary_angles(np.array([len(keys)]), q.shape[-1], base)
            keys.append(rotate(in_heads(normed, weights["w_k"], n_kv_heads), angle))
            values.append(in_heads(normed, weights["w_v"], n_kv_heads))
            k, v = np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)
            group = np.arange(n_heads) // (n_heads // n_kv_heads)
            k, v = k[..., group, :, :], v[..., group, :, :]
            scores = rotate(q, angle) @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
            found = stable_weights(scores) @ v
            x = x + np.moveaxis(found, -3, -2).reshape(*x.shape[:-1], -1) @ weights["w_o"]
            x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])
        rows.append(rms_norm(x, params["norm_f"], eps) @ params["w_out"])
    return np.concatenate(rows, axis=-2), cache
