"""Right versions of step 10 in unusual style."""

import math
import warnings

import numpy as np

from exercises.step01_projections import linear
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from grader.answer_key.variants import fair


def spread_mask(mask, x, memory):
    """The mask in full size, (..., T, S); None allows everything."""
    return np.broadcast_to(True if mask is None else mask, x.shape[:-1] + memory.shape[-2:-1])


def masked_softmax(scores, allowed):
    """Weights over the last axis, 0 where nothing is allowed."""
    hidden = np.where(allowed, scores, -np.inf)
    top = hidden.max(axis=-1, keepdims=True)
    e = np.exp(hidden - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


@fair("copy_and_fill", "shift_right")
def shift_copy_and_fill(tokens, start_id):
    shifted = np.empty(tokens.shape, dtype=int)
    shifted[..., 0] = start_id
    shifted[..., 1:] = tokens[..., :-1]
    return shifted


@fair("roll", "shift_right")
def shift_roll(tokens, start_id):
    """np.roll of a copy, its first place overwritten."""
    shifted = np.roll(tokens, 1, axis=-1)
    shifted[..., 0] = start_id
    return shifted


@fair("pad", "shift_right")
def shift_pad(tokens, start_id):
    """np.pad on the left; the last token cut off as a view."""
    widths = [(0, 0)] * (tokens.ndim - 1) + [(1, 0)]
    return np.pad(tokens, widths, constant_values=start_id)[..., :-1]


@fair("insert", "shift_right")
def shift_insert(ids, start):
    return np.insert(ids, 0, start, axis=-1)[..., : ids.shape[-1]]


@fair("python_lists", "shift_right")
def shift_python_lists(tokens, start_id):
    """Lists of ints, row by row."""
    rows = [[start_id, *row[:-1]] for row in tokens.reshape(-1, tokens.shape[-1]).tolist()]
    return np.array(rows).reshape(tokens.shape)


@fair("where_and_take", "shift_right")
def shift_where(tokens, start_id):
    """Every place looks one to the left; the first one has nowhere to look."""
    place = np.arange(tokens.shape[-1])
    return np.where(place == 0, start_id, np.take(tokens, place - 1, axis=-1))


@fair("loop_over_heads", "cross_attention")
def cross_loop(x, memory, params, n_heads, memory_mask=None):
    """Head by head with column slices; w_o in blocks of rows, added up."""
    w = x.shape[-1] // n_heads
    out = np.zeros(x.shape) + params["b_o"]
    for start in range(0, x.shape[-1], w):
        part = slice(start, start + w)
        q, k, v = (
            source @ params[f"w_{n}"][:, part] + params[f"b_{n}"][part]
            for n, source in (("q", x), ("k", memory), ("v", memory))
        )
        out += attention(q, k, v, memory_mask) @ params["w_o"][part]
    return out


@fair("einsum", "cross_attention")
def cross_einsum(x, memory, params, n_heads, memory_mask=None):
    """Named axes from end to end."""

    def heads(name, source):
        weight = params[f"w_{name}"].reshape(x.shape[-1], n_heads, -1)
        return np.einsum("...td,dhe->...the", source, weight) + params[f"b_{name}"].reshape(
            n_heads, -1
        )

    q, k, v = heads("q", x), heads("k", memory), heads("v", memory)
    scores = np.einsum("...ihe,...jhe->...hij", q, k) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, spread_mask(memory_mask, x, memory)[..., None, :, :])
    merged = np.einsum("...hij,...jhe->...ihe", weights, v).reshape(x.shape)
    return np.einsum("...d,de->...e", merged, params["w_o"]) + params["b_o"]


@fair("self_attention_over_both", "cross_attention")
def cross_self_attention_over_both(x, memory, params, n_heads, memory_mask=None):
    """multi_head_attention over memory and x together; the mask lets only the memory be seen."""
    (*batch, s, _), t = memory.shape, x.shape[-2]
    both = np.concatenate([memory, x], axis=-2)
    mask = np.zeros((*batch, s + t, s + t), dtype=bool)
    mask[..., s:, :s] = True if memory_mask is None else memory_mask
    return multi_head_attention(both, params, n_heads, mask)[..., s:, :]


@fair("query_by_query", "cross_attention")
def cross_query_by_query(x, memory, params, n_heads, memory_mask=None):
    """One position of x at a time, with its own row of the mask."""
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    allowed = spread_mask(memory_mask, x, memory)
    rows = []
    for t in range(x.shape[-2]):
        row = slice(t, t + 1)
        q = split_heads(linear(x[..., row, :], params["w_q"], params["b_q"]), n_heads)
        rows.append(merge_heads(attention(q, k, v, allowed[..., None, row, :])))
    return np.concatenate(rows, axis=-2) @ params["w_o"] + params["b_o"]


@fair("memory_permuted", "cross_attention")
def cross_memory_permuted(x, memory, params, n_heads, memory_mask=None):
    """The memory from its last place to its first: its order does not matter."""
    memory = memory[..., ::-1, :]
    allowed = spread_mask(memory_mask, x, memory)[..., ::-1]
    q, k, v = (
        split_heads(linear(source, params[f"w_{n}"], params[f"b_{n}"]), n_heads)
        for n, source in zip("qkv", (x, memory, memory), strict=True)
    )
    heads = attention(q, k, v, allowed[..., None, :, :])
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


@fair("without_key_bias", "cross_attention")
def cross_without_key_bias(x, memory, params, n_heads, memory_mask=None):
    """b_k adds the same to all scores of a query, so it may be left out; additive mask."""
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(memory @ params["w_k"], n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    added = np.where(spread_mask(memory_mask, x, memory), 0.0, -np.inf)[..., None, :, :]
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1]) + added
    return linear(merge_heads(softmax(scores) @ v), params["w_o"], params["b_o"])


@fair("running_totals", "cross_attention")
def cross_running_totals(x, memory, params, n_heads, memory_mask=None):
    """One place of the memory after the other, with a running maximum and total."""
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads) / math.sqrt(
        x.shape[-1] // n_heads
    )
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    allowed = spread_mask(memory_mask, x, memory)[..., None, :, :]
    top = np.full((*q.shape[:-1], 1), -np.inf)
    total, out = np.zeros(top.shape), np.zeros(q.shape)
    for j in range(memory.shape[-2]):
        scores = (q * k[..., j : j + 1, :]).sum(axis=-1, keepdims=True)
        scores = np.where(allowed[..., j : j + 1], scores, -np.inf)
        higher = np.maximum(top, scores)
        base = np.where(np.isneginf(higher), 0, higher)
        e, fade = np.exp(scores - base), np.exp(top - base)
        total, out, top = total * fade + e, out * fade + e * v[..., j : j + 1, :], higher
    return linear(merge_heads(out / np.where(total > 0, total, 1)), params["w_o"], params["b_o"])


@fair("recursion_and_noise", "cross_attention")
def cross_recursion(queries_from, keys_from, p, heads, memory_mask=None, scale=None):
    """Recursion over the batch axes; other parameter names, one more, a warning, float32 kept."""
    if queries_from.ndim > 2:
        masks = spread_mask(memory_mask, queries_from, keys_from)
        parts = zip(queries_from, keys_from, masks, strict=True)
        return np.stack([cross_recursion(a, b, p, heads, m, scale) for a, b, m in parts])
    warnings.warn("one text", stacklevel=2)
    width = queries_from.shape[-1] // heads
    scale = width**-0.5 if scale is None else scale
    q = (queries_from @ p["w_q"] + p["b_q"]).reshape(-1, heads, width).transpose(1, 0, 2)
    k = (keys_from @ p["w_k"] + p["b_k"]).reshape(-1, heads, width).transpose(1, 2, 0)
    v = (keys_from @ p["w_v"] + p["b_v"]).reshape(-1, heads, width).transpose(1, 0, 2)
    weights = masked_softmax(q @ k * scale, spread_mask(memory_mask, queries_from, keys_from))
    out = np.hstack(list(weights @ v)) @ p["w_o"] + p["b_o"]
    return np.asfortranarray(out.astype(queries_from.dtype))
