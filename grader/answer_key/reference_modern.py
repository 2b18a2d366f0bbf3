"""Compute Part IV with torch, modern attention: the reference.

This module builds on `reference`. Arguments are NumPy arrays, results are new ones, and torch's own
operations do the work if torch has them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader.answer_key.reference import (
    Array,
    Floats,
    Ids,
    Mask,
    Params,
    _array,
    _bools,
    _floats,
    _ids,
    attention,
    causal_mask,
    linear,
    merge_heads,
    project_qkv,
    split_heads,
)

Model = Mapping[str, Any]


def rotary_angles(positions: Array, d_head: int, base: float = 10000.0) -> Floats:
    """Apply `torch.logspace` for the speeds, and `torch.einsum` with the positions."""
    if d_head % 2:
        raise ValueError(f"d_head must be even, and is {d_head}")
    pairs = d_head // 2
    exponents = torch.arange(pairs, dtype=torch.float64) / -pairs
    speeds = torch.pow(torch.tensor(float(base), dtype=torch.float64), exponents)
    return _array(torch.einsum("...t,i->...ti", _ids(positions).double(), speeds))


def rotate(x: Array, angles: Array) -> Floats:
    """Return each pair as a complex number, times `torch.polar` of length 1."""
    values = _floats(x)
    first, second = values.chunk(2, dim=-1)
    turn = _floats(angles)
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(turn), turn)
    return _array(torch.cat([turned.real, turned.imag], dim=-1))


def alibi_slopes(n_heads: int) -> Floats:
    """Apply `torch.pow` to the first slope."""
    if n_heads < 1 or n_heads.bit_count() != 1:
        raise ValueError(f"n_heads must be a power of two, and is {n_heads}")
    exponents = torch.arange(1, n_heads + 1, dtype=torch.float64) * (-8 / n_heads)
    return _array(torch.exp2(exponents))


def alibi_bias(n_heads: int, t_q: int, t_k: int | None = None) -> Floats:
    """Apply `torch.cdist` to the positions: distances in both directions."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError(f"t_k must be at least t_q = {t_q}, and is {t_k}")
    positions = torch.arange(t_k, dtype=torch.float64).unsqueeze(-1)
    distance = torch.cdist(positions[t_k - t_q :], positions, p=1.0)
    return _array(torch.einsum("h,qk->hqk", -_floats(alibi_slopes(n_heads)), distance))


def repeat_heads(x: Array, n_repeats: int) -> Floats:
    """Apply `torch.repeat_interleave`, which repeats each head and not the whole list."""
    return _array(torch.repeat_interleave(_floats(x), n_repeats, dim=-3))


def grouped_query_attention(
    x: Array,
    params: Params,
    n_heads: int,
    n_kv_heads: int,
    mask: Array | None = None,
    angles: Array | None = None,
    bias: Array | None = None,
) -> Floats:
    """Apply `F.scaled_dot_product_attention` with `enable_gqa`, bias and mask in one float mask.

    For a query that may attend to nothing, torch gives NaN or 0. Here its output is 0.
    """
    if n_heads % n_kv_heads:
        raise ValueError(f"n_heads, {n_heads}, is not a multiple of n_kv_heads, {n_kv_heads}")
    q = split_heads(linear(x, params["w_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"]), n_kv_heads)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    *batch, _, length, _ = q.shape
    shape = (*batch, n_heads, length, length)
    allowed = _bools(True if mask is None else mask)
    allowed = (allowed.unsqueeze(-3) if allowed.ndim > 2 else allowed).expand(shape)
    added = _floats(0.0 if bias is None else bias).expand(shape).masked_fill(~allowed, -torch.inf)
    flat_q, flat_k, flat_v = (_floats(h).reshape(-1, *h.shape[-3:]) for h in (q, k, v))
    with sdpa_kernel(SDPBackend.MATH):
        output = F.scaled_dot_product_attention(
            flat_q, flat_k, flat_v, attn_mask=added.reshape(-1, *shape[-3:]), enable_gqa=True
        )
    output = output.reshape(*batch, *output.shape[-3:])
    output = output.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
    return linear(merge_heads(_array(output)), params["w_o"])


def sliding_window_mask(t_q: int, window: int, t_k: int | None = None) -> Mask:
    """Return the causal triangle without the triangle that is `window` rows lower."""
    if window < 1:
        raise ValueError(f"window must be at least 1, and is {window}")
    causal = _bools(causal_mask(t_q, t_k))
    shift = causal.shape[1] - causal.shape[0] - window
    return _array(causal & ~torch.tril(torch.ones_like(causal), diagonal=shift))


def prefix_mask(t: int, n_prefix: int) -> Mask:
    """Return the causal triangle, its first columns filled."""
    if not 0 <= n_prefix <= t:
        raise ValueError(f"n_prefix must lie between 0 and {t}, and is {n_prefix}")
    return _array(_bools(causal_mask(t)).index_fill(1, torch.arange(n_prefix), True))


def _lengths(row: torch.Tensor) -> list[int]:
    """Return the lengths of the runs of equal numbers."""
    return [int(n) for n in torch.unique_consecutive(row, return_counts=True)[1]]


def document_mask(documents: Array) -> Mask:
    """Apply `torch.block_diag` to one triangle for each run of `torch.unique_consecutive`."""
    ids = _ids(documents)
    rows = [
        torch.block_diag(*(torch.tril(torch.ones(n, n)) for n in _lengths(row)))  # type: ignore[no-untyped-call]
        for row in ids.reshape(-1, ids.shape[-1])
    ]
    return _array(torch.stack(rows).bool().reshape(*ids.shape, ids.shape[-1]))


def document_positions(documents: Array) -> Floats:
    """Apply `torch.arange` to each run, one after another; floats, because any type will do."""
    ids = _ids(documents)
    rows = [
        torch.cat([torch.arange(n) for n in _lengths(row)])
        for row in ids.reshape(-1, ids.shape[-1])
    ]
    return _array(torch.stack(rows).reshape(ids.shape).double())


def partial_attention(
    q: Array, k: Array, v: Array, mask: Array | None = None
) -> tuple[Floats, Floats]:
    """Return `attention`, and `torch.logsumexp` of the allowed scores."""
    queries, keys = _floats(q), _floats(k)
    scores = torch.einsum("...qd,...kd->...qk", queries, keys) / queries.shape[-1] ** 0.5
    allowed = _bools(True if mask is None else mask)
    lse = torch.logsumexp(scores.masked_fill(~allowed, -torch.inf), dim=-1)
    return attention(q, k, v, mask), _array(lse)


def merge_attention(
    out_a: Array, lse_a: Array, out_b: Array, lse_b: Array
) -> tuple[Floats, Floats]:
    """Apply `torch.logaddexp`, and `torch.softmax` for the parts; NaN where both sets are empty."""
    both = torch.stack([_floats(lse_a), _floats(lse_b)])
    shares = torch.softmax(both, dim=0).nan_to_num(0.0).unsqueeze(-1)
    out = shares[0] * _floats(out_a) + shares[1] * _floats(out_b)
    return _array(out), _array(torch.logaddexp(both[0], both[1]))


def streaming_attention(q: Array, k: Array, v: Array, block: int, causal: bool = False) -> Floats:
    """Return `attention` over all keys at once, as a second opinion on any division into blocks."""
    if block < 1:
        raise ValueError(f"block must be at least 1, and is {block}")
    return attention(q, k, v, causal_mask(np.shape(q)[-2], np.shape(k)[-2]) if causal else None)


def attend_in_window(x: Array, window: int, w_q: Array, w_k: Array, w_v: Array) -> Floats:
    """Return `attention` under `sliding_window_mask`, for the whole sequence at once."""
    mask = sliding_window_mask(np.shape(x)[-2], window)
    return attention(*project_qkv(x, w_q, w_k, w_v), mask)


def attend_in_window_chunks(
    x: Sequence[Array], window: int, w_q: Array, w_k: Sequence[Array], w_v: Sequence[Array]
) -> Floats:
    """Return the same for a sequence in chunks, each with its own w_k and w_v."""
    q = linear(np.concatenate(list(x), axis=-2), w_q)
    k, v = (
        np.concatenate([linear(part, w) for part, w in zip(x, weights, strict=True)], axis=-2)
        for weights in (w_k, w_v)
    )
    return attention(q, k, v, sliding_window_mask(q.shape[-2], window))


def rms_norm(x: Array, gain: Array, eps: float = 1e-5) -> Floats:
    """Apply `F.rms_norm` over the last axis."""
    values = _floats(x)
    return _array(F.rms_norm(values, values.shape[-1:], _floats(gain), eps))


def swiglu(x: Array, params: Params) -> Floats:
    """Apply `F.silu` of the gate, times the other map, and `F.linear` back."""
    gate = F.silu(_floats(linear(x, params["w_gate"])))
    return linear(_array(gate * _floats(linear(x, params["w_up"]))), params["w_down"])


def llama_block(
    x: Array,
    params: Model,
    n_heads: int,
    n_kv_heads: int,
    mask: Array | None,
    angles: Array | None,
    eps: float = 1e-5,
) -> Floats:
    """Add attention and network to the stream; each reads the normed stream (pre-norm)."""
    normed = rms_norm(x, params["norm_1"], eps)
    heard = grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    middle = np.add(x, heard)
    normed = rms_norm(middle, params["norm_2"], eps)
    return np.asarray(np.add(middle, swiglu(normed, params["feed_forward"])))


def llama_logits(
    tokens: Array,
    params: Model,
    n_heads: int,
    n_kv_heads: int,
    base: float = 10000.0,
    eps: float = 1e-5,
) -> Floats:
    """Apply `F.embedding`, the blocks with one mask and one set of angles, and the head."""
    ids = _ids(tokens)
    length = ids.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    angles, mask = rotary_angles(np.arange(length), d_head, base), causal_mask(length)
    x = _array(F.embedding(ids, _floats(params["embedding"])))
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return linear(rms_norm(x, params["norm_f"], eps), params["w_out"])


def new_llama_cache(n_layers: int) -> Ids | None:
    """Return the tokens so far: none.

    Everything else is computed again, as a second opinion on a cache.
    """
    return None


def llama_step(
    tokens_new: Array,
    cache: Ids | None,
    params: Model,
    n_heads: int,
    n_kv_heads: int,
    base: float = 10000.0,
    eps: float = 1e-5,
) -> tuple[Floats, Ids]:
    """Return the last rows of `llama_logits` over all tokens so far."""
    new = np.asarray(tokens_new)
    tokens = new if cache is None else np.concatenate([cache, new], axis=-1)
    logits = llama_logits(tokens, params, n_heads, n_kv_heads, base, eps)
    return logits[..., -new.shape[-1] :, :], tokens


def new_window_cache(window: int) -> tuple[int, tuple[Any, ...]]:
    """Return the window, and the chunks of (x, w_k, w_v) so far: none."""
    if window < 1:
        raise ValueError(f"window must be at least 1, and is {window}")
    return window, ()


def attend_with_window_cache(
    x_new: Array, cache: tuple[int, tuple[Any, ...]], w_q: Array, w_k: Array, w_v: Array
) -> tuple[Floats, tuple[int, tuple[Any, ...]]]:
    """Return the last rows of `attend_in_window_chunks` over everything so far."""
    window, chunks = cache
    chunks = (*chunks, (x_new, w_k, w_v))
    x, keys, values = zip(*chunks, strict=True)
    whole = attend_in_window_chunks(x, window, w_q, keys, values)
    return whole[..., -np.shape(x_new)[-2] :, :], (window, chunks)
