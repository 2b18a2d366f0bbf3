"""Right versions of step 5 in unusual style."""

import functools
import math
import sys
import warnings

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import additive_mask, causal_mask
from exercises.step04_softmax import softmax
from grader.answer_key.variants import fair


def spread_mask(mask, q, k):
    """The mask in full size; None allows everything."""
    return np.broadcast_to(True if mask is None else mask, q.shape[:-1] + k.shape[-2:-1])


def masked_exponentials(scores, allowed):
    """exp of the allowed scores less the largest allowed one, 0 elsewhere."""
    hidden = np.where(allowed, scores, -np.inf)
    top = hidden.max(axis=-1, keepdims=True)
    return np.exp(hidden - np.where(np.isneginf(top), 0, top))


def past_and_padding(length, padding):
    mask = np.tri(length, dtype=bool)
    return mask if padding is None else mask & padding


def mix_by_precision(precision, weights, v):
    return (weights.astype(precision) @ v.astype(precision)).astype(np.result_type(weights, v))


partial_output = functools.partial(mix_by_precision, np.longdouble)

lambda_output = lambda weights, v: np.einsum("...qk,...kd->...qd", weights, v)  # noqa: E731


class Attention:
    """A callable object in place of the function."""

    def __init__(self, hidden_score):
        self.hidden_score = hidden_score

    def __call__(self, q, k, v, mask=None):
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        allowed = spread_mask(mask, q, k)
        e = masked_exponentials(np.where(allowed, scores, self.hidden_score), allowed)
        total = e.sum(axis=-1, keepdims=True)
        return (e / np.where(total > 0, total, 1)) @ v


attention_object = Attention(hidden_score=-1e30)


@fair("einsum", "attention_output")
def output_einsum(weights, v):
    return np.einsum("...ij,...jd->...id", weights, v)


@fair("output_python_loops", "attention_output")
def output_python_loops(weights, v):
    """Four loops and exact sums of Python floats."""
    out = np.zeros(weights.shape[:-1] + v.shape[-1:])
    for place in np.ndindex(*out.shape):
        row, (i, f) = place[:-2], place[-2:]
        terms = zip(weights[(*row, i)], v[(*row, slice(None), f)], strict=True)
        out[place] = math.fsum(float(w) * float(x) for w, x in terms)
    return out


@fair("transposed_product", "attention_output")
def output_transposed_product(weights, v):
    """(vᵀ wᵀ)ᵀ, a non-contiguous view."""
    return np.moveaxis(np.moveaxis(v, -1, -2) @ np.moveaxis(weights, -1, -2), -1, -2)


@fair("weighted_sum", "attention_output")
def output_weighted_sum(weights, v):
    return (weights[..., None] * v[..., None, :, :]).sum(axis=-2)


@fair("key_by_key", "attention_output")
def output_key_by_key(weights, v):
    """Adds the share of one key after the other; the result is read-only."""
    out = np.zeros(weights.shape[:-1] + v.shape[-1:])
    for j in range(v.shape[-2]):
        out += weights[..., :, j, None] * v[..., None, j, :]
    out.setflags(write=False)
    return out


@fair("recursion_tensordot", "attention_output")
def output_recursion_tensordot(probabilities, values):
    """Recursion over the batch axes, other parameter names."""
    if probabilities.ndim > 2:
        pairs = zip(probabilities, values, strict=True)
        return np.stack([output_recursion_tensordot(p, x) for p, x in pairs])
    return np.tensordot(probabilities, values, axes=1)


@fair("keys_reversed", "attention_output")
def output_keys_reversed(weights, v):
    """Keys from last to first, features too: negative strides in the result."""
    backwards = np.flip(weights, axis=-1) @ v[..., ::-1, ::-1]
    return backwards[..., ::-1]


@fair("attention_python_loops", "attention")
def attention_python_loops(q, k, v, mask=None):
    """Every query by itself, with the keys that it may see and no others."""
    allowed = spread_mask(mask, q, k)
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    for place in np.ndindex(*q.shape[:-1]):
        seen = [j for j in range(k.shape[-2]) if allowed[(*place, j)]]
        scores = [float(np.dot(q[place], k[(*place[:-1], j)])) for j in seen]
        scores = [s / math.sqrt(q.shape[-1]) for s in scores]
        e = [math.exp(s - max(scores)) for s in scores]
        for share, j in zip(e, seen, strict=True):
            out[place] += share / math.fsum(e) * v[(*place[:-1], j)]
    return out


@fair("compressed_keys", "attention")
def attention_compressed_keys(q, k, v, mask=None):
    """Picks the allowed keys and values with the mask row."""
    allowed = spread_mask(mask, q, k)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=np.float64)
    for *row, i in np.ndindex(*q.shape[:-1]):
        row = tuple(row)
        seen = allowed[row][i]
        if np.any(seen):
            scores = k[row][seen] @ q[row][i] / np.sqrt(q.shape[-1])
            weights = np.exp(scores - scores.max())
            out[row][i] = weights @ v[row][seen] / weights.sum()
    return out


@fair("additive_mask_inside", "attention")
def attention_additive_mask_inside(q, k, v, mask=None):
    """softmax(QKᵀ/√d + M) V from the earlier steps."""
    scores = attention_scores(q, k)
    if mask is not None:
        scores = scores + additive_mask(mask)
    return softmax(scores) @ v


@fair("finite_fill", "attention")
def attention_finite_fill(q, k, v, mask=None):
    """A finite, very low score hides a key; a query without keys is zeroed at the end."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    allowed = spread_mask(mask, q, k)
    scores = np.where(allowed, scores, -1e30)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return (weights * allowed.any(axis=-1, keepdims=True)) @ v


@fair("renormalised_after_exp", "attention")
def attention_renormalised_after_exp(q, k, v, mask=None):
    """Masks the exponentials, shifted by the largest allowed score, and normalises then."""
    allowed = spread_mask(mask, q, k)
    scores = np.einsum("...id,...jd->...ij", q / np.sqrt(q.shape[-1]), k)
    lowest = np.finfo(scores.dtype).min / 4
    top = scores.max(axis=-1, keepdims=True, initial=lowest, where=allowed)
    e = np.exp(np.minimum(scores - top, 0)) * allowed
    return (e / np.maximum(e.sum(axis=-1, keepdims=True), np.finfo(e.dtype).tiny)) @ v


@fair("one_pass_over_keys", "attention")
def attention_one_pass_over_keys(q, k, v, mask=None):
    """Running maximum, total and output, two keys at a time."""
    allowed = spread_mask(mask, q, k)
    top = np.full((*q.shape[:-1], 1), -np.inf)
    total, out = np.zeros(top.shape), np.zeros(q.shape[:-1] + v.shape[-1:])
    for start in range(0, k.shape[-2], 2):
        block = np.s_[..., start : start + 2, :]
        scores = q @ k[block].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        scores = np.where(allowed[..., start : start + 2], scores, -np.inf)
        higher = np.maximum(top, scores.max(axis=-1, keepdims=True))
        base = np.where(np.isneginf(higher), 0, higher)
        e, fade = np.exp(scores - base), np.exp(top - base)
        total, out, top = total * fade + e.sum(-1, keepdims=True), out * fade + e @ v[block], higher
    return out / np.where(total > 0, total, 1)


@fair("keys_first", "attention")
def attention_keys_first(q, k, v, mask=None):
    """Scores as (keys, queries), softmax over the keys' axis, a transposed view as result."""
    scores = k @ q.swapaxes(-1, -2) * k.shape[-1] ** -0.5
    scores[np.swapaxes(~spread_mask(mask, q, k), -1, -2)] = -np.inf
    weights = softmax(scores, axis=-2)
    return np.swapaxes(np.swapaxes(v, -1, -2) @ weights, -1, -2)


@fair("sink_key", "attention")
def attention_sink_key(q, k, v, mask=None):
    """One more key, far below every score, with the value 0: what is left for a blocked query."""
    scores = np.where(spread_mask(mask, q, k), attention_scores(q, k), -np.inf)
    scores = np.concatenate([scores, np.full((*scores.shape[:-1], 1), -1e12)], axis=-1)
    values = np.concatenate([v, np.zeros((*v.shape[:-2], 1, v.shape[-1]))], axis=-2)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ values


@fair("column_of_ones", "attention")
def attention_column_of_ones(q, k, v, mask=None):
    """Values with a column of ones: the product brings its own total."""
    root = q.shape[-1] ** 0.25
    e = masked_exponentials((q / root) @ (k / root).swapaxes(-1, -2), spread_mask(mask, q, k))
    sums = e @ np.concatenate([v, np.ones((*v.shape[:-1], 1))], axis=-1)
    total = sums[..., -1:]
    return np.divide(sums[..., :-1], total, out=np.zeros_like(sums[..., :-1]), where=total > 0)


@fair("masked_array", "attention")
def attention_masked_array(q, k, v, mask=None):
    """np.ma inside, an ordinary array outside."""
    scores = np.ma.array(attention_scores(q, k), mask=~spread_mask(mask, q, k))
    e = np.ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (e / e.sum(axis=-1, keepdims=True)).filled(0)
    return np.asarray(weights) @ v


@fair("attention_longdouble", "attention")
def attention_longdouble(queries, keys, values, mask=None):
    """Extended precision, inside and in the result; other parameter names."""
    queries, keys, values = (a.astype(np.longdouble) for a in (queries, keys, values))
    scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(np.longdouble(keys.shape[-1]))
    e = masked_exponentials(scores, spread_mask(mask, queries, keys))
    total = e.sum(axis=-1, keepdims=True)
    return e @ values / np.where(total == 0, 1, total)


@fair("float32_result", "attention", also={"attention_output": "lambda_output"})
def attention_float32_result(q, k, v, mask=None):
    """float64 inside, the inputs' dtype in the result; attention_output is a lambda."""
    e = masked_exponentials(
        np.float64(q) @ np.float64(k).swapaxes(-1, -2) / math.sqrt(q.shape[-1]),
        spread_mask(mask, q, k),
    )
    total = e.sum(axis=-1, keepdims=True)
    out = np.matmul(e / np.where(total > 0, total, np.inf), np.float64(v))
    return out.astype(np.result_type(q, k, v))


@fair("recursion", "attention")
def attention_recursion(q, k, v, mask=None):
    """Recursion over the batch axes, and over the queries of a matrix."""
    allowed = spread_mask(mask, q, k)
    if q.ndim > 2:
        parts = zip(q, k, v, allowed, strict=True)
        return np.stack([attention_recursion(*part) for part in parts])
    if len(q) > 1:
        halves = np.array_split(np.arange(len(q)), 2)
        return np.vstack([attention_recursion(q[i], k, v, allowed[i]) for i in halves])
    e = masked_exponentials(np.inner(q, k) / q.shape[-1] ** 0.5, allowed)
    return e @ v / (e.sum() or 1.0)


@fair("noisy_extra_parameters", "attention", also={"attention_output": "partial_output"})
def attention_noisy_extra_parameters(q, k, v, mask=None, scale=None, return_weights=False):
    """More optional parameters, output on both streams, warnings; a partial object besides."""
    print("queries", q.shape, "keys", k.shape)
    print("mask", None if mask is None else mask.shape, file=sys.stderr)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = np.where(spread_mask(mask, q, k), q @ k.swapaxes(-2, -1) * scale, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
    warnings.warn("attention done", stacklevel=2)
    return (weights @ v, weights) if return_weights else weights @ v


@fair("readonly_fortran", "attention")
def attention_readonly_fortran(q, k, v, mask=None):
    """Overwrites scores of its own; the result is Fortran-ordered and read-only."""
    scores = np.array(q @ k.swapaxes(-1, -2), order="F")
    scores *= 1 / np.sqrt(q.shape[-1])
    np.copyto(scores, -np.inf, where=~spread_mask(mask, q, k))
    out = np.asfortranarray(softmax(scores, -1) @ v)
    out.setflags(write=False)
    return out


@fair("earlier_steps", "masked_self_attention")
def self_attention_earlier_steps(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    length = x.shape[-2]
    mask = causal_mask(length, length) & (np.bool_(True) if padding is None else padding)
    return attention(q, k, v, mask=mask)


@fair("growing_past", "masked_self_attention")
def self_attention_growing_past(x, w_q, w_k, w_v, padding=None):
    """No causal mask: position t attends to what stands up to t."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    rows = []
    for t in range(x.shape[-2]):
        seen = None if padding is None else padding[..., : t + 1]
        rows.append(
            attention_object(
                q[..., t : t + 1, :],
                k[..., : t + 1, :],
                v[..., : t + 1, :],
                seen,
            )
        )
    return np.concatenate(rows, axis=-2)


@fair("bilinear_form", "masked_self_attention")
def self_attention_bilinear_form(x, w_q, w_k, w_v, padding=None):
    """Scores as x (w_q w_kᵀ) xᵀ, and the values projected last."""
    form = (w_q @ w_k.T) / np.sqrt(w_q.shape[1])
    scores = x @ form @ np.swapaxes(x, -1, -2)
    e = masked_exponentials(scores, past_and_padding(x.shape[-2], padding))
    total = e.sum(axis=-1, keepdims=True)
    return ((e / np.where(total > 0, total, 1)) @ x) @ w_v


@fair("time_reversed", "masked_self_attention")
def self_attention_time_reversed(x, w_q, w_k, w_v, padding=None):
    """Everything backwards in time, the past above the diagonal."""
    x = x[..., ::-1, :]
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    mask = np.triu(np.ones((x.shape[-2],) * 2, dtype=bool))
    if padding is not None:
        mask = mask & padding[..., ::-1]
    return attention_object(q, k, v, mask)[..., ::-1, :]


@fair("additive_masks", "masked_self_attention")
def self_attention_additive_masks(x, w_q, w_k, w_v, padding=None):
    """Both masks as 0 and -∞, added to the scores."""
    q, k, v = (np.tensordot(x, w, axes=1) for w in (w_q, w_k, w_v))
    scores = np.einsum("...id,...jd->...ij", q, k) / math.sqrt(k.shape[-1])
    scores = scores + np.triu(np.full(scores.shape[-2:], -np.inf), k=1)
    if padding is not None:
        scores += np.where(padding, 0.0, -np.inf)
    return np.einsum("...ij,...jd->...id", softmax(scores), v)


@fair("self_attention_python_loops", "masked_self_attention")
def self_attention_python_loops(x, w_q, w_k, w_v, padding=None):
    """Position by position, each attending to a list of earlier ones."""
    out = np.zeros(x.shape[:-1] + w_v.shape[1:])
    for row in np.ndindex(*x.shape[:-2]):
        q, k, v = x[row] @ w_q, x[row] @ w_k, x[row] @ w_v
        for t in range(x.shape[-2]):
            seen = [j for j in range(t + 1) if padding is None or padding[(*row, 0, j)]]
            if seen:
                scores = k[seen] @ q[t] / w_q.shape[1] ** 0.5
                e = np.exp(scores - scores.max())
                out[row][t] = e @ v[seen] / math.fsum(e.tolist())
    return out


@fair("recursion_over_time", "masked_self_attention")
def self_attention_recursion_over_time(tokens, to_query, to_key, to_value, padding=None):
    """The last position attends to all, the rest is the same thing one token shorter."""
    last = tokens[..., -1:, :] @ to_query
    keys, values = tokens @ to_key, tokens @ to_value
    end = attention_object(last, keys, values, padding)
    if tokens.shape[-2] == 1:
        return end
    shorter = None if padding is None else padding[..., :-1]
    start = self_attention_recursion_over_time(
        tokens[..., :-1, :],
        to_query,
        to_key,
        to_value,
        shorter,
    )
    return np.concatenate([start, end], axis=-2)


@fair("self_attention_longdouble", "masked_self_attention", also={"attention": "attention_object"})
def self_attention_longdouble(x, w_q, w_k, w_v, padding=None):
    """Extended precision inside; attention is a callable object."""
    q, k, v = (x.astype(np.longdouble) @ w for w in (w_q, w_k, w_v))
    e = masked_exponentials(
        q @ k.swapaxes(-1, -2) / np.sqrt(np.longdouble(k.shape[-1])),
        past_and_padding(x.shape[-2], padding),
    )
    total = e.sum(axis=-1, keepdims=True)
    return (e @ v / np.where(total > 0, total, 1)).astype(np.float64)
