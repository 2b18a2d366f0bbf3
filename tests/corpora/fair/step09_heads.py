"""Right versions of step 9 in unusual style."""

import math
import sys
import warnings

import numpy as np

from exercises.step01_projections import linear
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from grader.answer_key.variants import fair


def checked_width(x, n_heads):
    d_head, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError(f"{x.shape[-1]} features for {n_heads} heads")
    return d_head


def spread_mask(mask, x):
    """The mask in full size with a head axis of 1; None allows everything."""
    full = np.broadcast_to(True if mask is None else mask, x.shape[:-1] + x.shape[-2:-1])
    return full[..., None, :, :]


def masked_softmax(scores, allowed):
    """Weights over the last axis, 0 where nothing is allowed."""
    hidden = np.where(allowed, scores, -np.inf)
    top = hidden.max(axis=-1, keepdims=True)
    e = np.exp(hidden - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


@fair("slices", "split_heads")
def split_slices(x, n_heads):
    """One slice of the features for each head, stacked."""
    w = checked_width(x, n_heads)
    return np.stack([x[..., h * w : (h + 1) * w] for h in range(n_heads)], axis=-3)


@fair("np_split", "split_heads")
def split_np_split(x, n_heads):
    """np.split, whose own ValueError is the one that is promised."""
    return np.stack(np.split(x, n_heads, axis=-1), -3)


@fair("moveaxis", "split_heads", also={"merge_heads": "merge_swap"})
def split_moveaxis(x, n_heads):
    """A view; -1 lets NumPy work out the width, and refuse."""
    return np.moveaxis(x.reshape(x.shape[:-1] + (n_heads, -1)), -2, -3)


def merge_swap(x):
    turned = x.swapaxes(-3, -2)
    return turned.reshape((*turned.shape[:-2], -1))


@fair("einsum_rename", "split_heads")
def split_einsum(x, n_heads):
    checked_width(x, n_heads)
    return np.einsum("...thd->...htd", x.reshape(*x.shape[:-1], n_heads, -1))


@fair("selector", "split_heads")
def split_selector(features, heads):
    """A product with columns of the identity; other parameter names."""
    w = checked_width(features, heads)
    picks = np.eye(features.shape[-1]).reshape(-1, heads, w).swapaxes(0, 1)
    return (features[..., None, :, :] @ picks).astype(features.dtype)


@fair("index_array", "split_heads")
def split_index_array(x, n_heads):
    """Fancy indexing, a Fortran-ordered and read-only result."""
    w = checked_width(x, n_heads)
    parts = x[..., np.arange(n_heads * w).reshape(n_heads, w)]
    heads = np.asfortranarray(np.moveaxis(parts, -2, -3))
    heads.setflags(write=False)
    return heads


@fair("transpose_first", "split_heads")
def split_transpose_first(x, n_heads):
    """Features first, then heads, then everything back."""
    checked_width(x, n_heads)
    turned = np.swapaxes(x, -1, -2)
    parts = turned.reshape(*x.shape[:-2], n_heads, -1, x.shape[-2])
    return parts.swapaxes(-1, -2)


@fair("concatenate", "merge_heads")
def merge_concatenate(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


@fair("written_into_place", "merge_heads")
def merge_written_into_place(x):
    """An empty array, filled head by head from the last one."""
    *batch, n_heads, t, w = x.shape
    merged = np.empty((*batch, t, n_heads * w), dtype=x.dtype)
    for h in range(n_heads)[::-1]:
        merged[..., h * w : (h + 1) * w] = x[..., h, :, :]
    return merged


@fair("recursion", "merge_heads")
def merge_recursion(x):
    """Recursion over batch axes, hstack of matrices."""
    return np.stack([merge_recursion(part) for part in x]) if x.ndim > 3 else np.hstack(x)


@fair("einsum_order_f", "merge_heads")
def merge_einsum(x):
    merged = np.einsum("...htd->...thd", x)
    return merged.copy(order="F").reshape((*merged.shape[:-2], -1))


@fair("loop_over_heads", "multi_head_attention")
def heads_loop(x, params, n_heads, mask=None):
    """Head by head with column slices, never an axis of heads; w_o in blocks of rows, added up."""
    w = checked_width(x, n_heads)
    out = params["b_o"]
    for start in range(0, x.shape[-1], w):
        part = slice(start, start + w)
        q, k, v = (x @ params[f"w_{n}"][:, part] + params[f"b_{n}"][part] for n in "qkv")
        out = out + attention(q, k, v, mask) @ params["w_o"][part]
    return out


@fair("einsum_weights", "multi_head_attention")
def heads_einsum(x, params, n_heads, mask=None):
    """Weights as (d_model, n_heads, d_head), no split and no merge."""
    d_model = x.shape[-1]
    shape = (n_heads, d_model // n_heads)
    q, k, v = (
        np.einsum("...td,dhe->...hte", x, params[f"w_{n}"].reshape(d_model, *shape))
        + params[f"b_{n}"].reshape(n_heads, 1, -1)
        for n in "qkv"
    )
    scores = np.einsum("...hie,...hje->...hij", q, k) / math.sqrt(shape[1])
    weights = masked_softmax(scores, spread_mask(mask, x))
    w_o = params["w_o"].reshape(*shape, d_model)
    return np.einsum("...hij,...hje,hed->...id", weights, v, w_o) + params["b_o"]


@fair("one_projection", "multi_head_attention")
def heads_one_projection(x, params, n_heads, mask=None):
    """All three projections in one product; the heads between batch and time."""
    w = np.concatenate([params[f"w_{n}"] for n in "qkv"], axis=1)
    b = np.concatenate([params[f"b_{n}"] for n in "qkv"])
    parts = (x @ w + b).reshape(*x.shape[:-1], 3, n_heads, -1)
    q, k, v = np.moveaxis(parts, (-3, -2), (0, -3))
    heads = attention(q, k, v, spread_mask(mask, x))
    merged = np.moveaxis(heads, -3, -2).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@fair("additive_mask", "multi_head_attention")
def heads_additive_mask(x, params, n_heads, mask=None):
    """The mask as 0 and -∞, added to scores of queries that were scaled."""
    q, k, v = (split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv")
    scores = (q * q.shape[-1] ** -0.5) @ k.swapaxes(-1, -2)
    if mask is not None:
        added = np.where(mask, 0.0, -np.inf)
        scores = scores + (np.expand_dims(added, -3) if added.ndim > 1 else added)
    return merge_heads(softmax(scores) @ v) @ params["w_o"] + params["b_o"]


@fair("flattened_batch", "multi_head_attention")
def heads_flattened_batch(x, params, n_heads, mask=None):
    """Batch and heads in one axis, as frameworks do it, the masks repeated in the same order."""
    *_, t, d_model = x.shape
    flat = x.reshape(-1, t, d_model)
    allowed = np.repeat(spread_mask(mask, x).reshape(-1, t, t), n_heads, axis=0)

    def heads(name):
        y = flat @ params[f"w_{name}"] + params[f"b_{name}"]
        y = y.reshape(len(flat), t, n_heads, -1).transpose(0, 2, 1, 3)
        return y.reshape(len(flat) * n_heads, t, -1)

    found = attention(heads("q"), heads("k"), heads("v"), allowed)
    found = found.reshape(len(flat), n_heads, t, -1).transpose(0, 2, 1, 3).reshape(x.shape)
    return found @ params["w_o"] + params["b_o"]


@fair("finite_fill", "multi_head_attention")
def heads_finite_fill(x, params, n_heads, mask=None):
    """A very low finite score; blocked queries are zeroed before w_o."""
    q, k, v = (split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv")
    allowed = spread_mask(mask, x)
    scores = np.where(allowed, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -1e30)
    heads = softmax(scores) @ v * allowed.any(axis=-1, keepdims=True)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


@fair("block_diagonal", "multi_head_attention")
def heads_block_diagonal(x, params, n_heads, mask=None):
    """Queries with zeros outside their head's features: full-width products, head by head."""
    q, k, v = (x @ params[f"w_{n}"] + params[f"b_{n}"] for n in "qkv")
    owner = np.arange(x.shape[-1]) // (x.shape[-1] // n_heads)
    merged = np.zeros_like(v)
    for h in range(n_heads):
        mine = owner == h
        scores = (q * mine) @ k.swapaxes(-1, -2) / math.sqrt(mine.sum())
        merged += masked_softmax(scores, spread_mask(mask, x)[..., 0, :, :]) @ (v * mine)
    return merged @ params["w_o"] + params["b_o"]


@fair("python_loops", "multi_head_attention")
def heads_python_loops(x, params, n_heads, mask=None):
    """Every text, head and query by itself, with the keys that it may see and no others."""
    w = x.shape[-1] // n_heads
    merged = np.zeros(x.shape)
    q, k, v = (x @ params[f"w_{n}"] + params[f"b_{n}"] for n in "qkv")
    allowed = spread_mask(mask, x)[..., 0, :, :]
    for *row, h in np.ndindex(*x.shape[:-2], n_heads):
        row, part = tuple(row), slice(h * w, (h + 1) * w)
        for i in range(x.shape[-2]):
            seen = np.flatnonzero(allowed[row][i])
            if len(seen):
                scores = k[row][seen][:, part] @ q[row][i, part] / math.sqrt(w)
                e = np.exp(scores - scores.max())
                merged[row][i, part] = e @ v[row][seen][:, part] / e.sum()
    return merged @ params["w_o"] + params["b_o"]


@fair("noisy_longdouble", "multi_head_attention")
def heads_noisy_longdouble(x, p, heads, mask=None, dropout=0.0):
    """Extended precision, prints and warnings; other parameter names, and one more."""
    print("heads", heads, file=sys.stderr)
    warnings.warn("attention", stacklevel=2)
    p = {name: array.astype(np.longdouble) for name, array in p.items()}
    q, k, v = (split_heads(x @ p[f"w_{n}"] + p[f"b_{n}"], heads) for n in "qkv")
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(np.longdouble(q.shape[-1]))
    weights = masked_softmax(scores, spread_mask(mask, x))
    return merge_heads(weights @ v) @ p["w_o"] + p["b_o"]
