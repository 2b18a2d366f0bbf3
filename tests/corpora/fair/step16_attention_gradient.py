"""Right versions of step 16 in unusual style."""

import math

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step15_gradients import linear_backward
from grader.answer_key.variants import fair


class Node:
    """A number-carrying array on a tape, and what to do on the way back."""

    def __init__(self, value, back=None, parents=()):
        self.value, self.back, self.parents = value, back, parents
        self.gradient = np.zeros_like(value)

    def walk_back(self, gradient):
        """Adds the gradient here, and hands it on."""
        order, seen = [], set()

        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.gradient = gradient
        for node in reversed(order):
            if node.back is not None:
                for parent, d in zip(node.parents, node.back(node.gradient), strict=True):
                    parent.gradient = parent.gradient + d


def flat(array):
    return array.reshape(-1, array.shape[-1])


def turned(array):
    return np.swapaxes(array, -1, -2)


def product(a, b):
    """The matrix product of two nodes."""

    def back(d):
        d_b = turned(a.value) @ d
        while d_b.ndim > b.value.ndim:
            d_b = d_b.sum(axis=0)
        return d @ turned(b.value), d_b

    return Node(a.value @ b.value, back, (a, b))


def transposed(a):
    return Node(turned(a.value), lambda d: (turned(d),), (a,))


def soft(a, mask, scale):
    """softmax of scaled, masked scores."""
    scores = a.value * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=-1, keepdims=True)
    weights = e / np.where(total > 0, total, 1)

    def back(d):
        return (weights * (d - (weights * d).sum(axis=-1, keepdims=True)) * scale,)

    return Node(weights, back, (a,))


@fair("tape", "attention_backward")
def attention_by_tape(d_out, q, k, v, mask=None):
    """A small autograd: nodes remember how to go back."""
    q, k, v = Node(q), Node(k), Node(v)
    weights = soft(product(q, transposed(k)), mask, 1 / math.sqrt(q.value.shape[-1]))
    product(weights, v).walk_back(d_out)
    return q.gradient, k.gradient, v.gradient


def attention_by_einsum(d_out, q, k, v, mask=None):
    """Nothing but einsum and one softmax."""
    scale = q.shape[-1] ** -0.5
    scores = np.einsum("...qd,...kd->...qk", q, k) * scale
    w = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    d_w = np.einsum("...qv,...kv->...qk", d_out, v)
    d_s = w * (d_w - np.einsum("...qk,...qk->...q", w, d_w)[..., None])
    return (
        scale * np.einsum("...qk,...kd->...qd", d_s, k),
        scale * np.einsum("...qk,...qd->...kd", d_s, q),
        np.einsum("...qk,...qv->...kv", w, d_out),
    )


@fair("einsum", "attention_backward")
def attention_by_einsum_alone(d_out, q, k, v, mask=None):
    """Nothing but einsum and one softmax."""
    return attention_by_einsum(d_out, q, k, v, mask)


def attention_query_by_query(d_out, q, k, v, mask=None):
    """One query at a time, with the whole matrix of the softmax's slopes."""
    d_q, d_k, d_v = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    shape = (*q.shape[:-1], k.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, shape)
    for at in np.ndindex(q.shape[:-1]):
        batch = at[:-1]
        seen = np.flatnonzero(mask[at])
        if not seen.size:
            continue
        keys, values = k[batch][seen], v[batch][seen]
        w = softmax(keys @ q[at] / np.sqrt(q.shape[-1]))
        slopes = np.diag(w) - np.outer(w, w)
        d_s = slopes @ (values @ d_out[at]) / np.sqrt(q.shape[-1])
        d_q[at] = d_s @ keys
        np.add.at(d_k, (*batch, seen), np.outer(d_s, q[at]))
        np.add.at(d_v, (*batch, seen), np.outer(w, d_out[at]))
    return d_q, d_k, d_v


@fair("query_by_query", "attention_backward")
def attention_query_by_query_alone(d_out, q, k, v, mask=None):
    """One query at a time, with the whole matrix of the softmax's slopes."""
    return attention_query_by_query(d_out, q, k, v, mask)


def attention_by_the_output(d_out, q, k, v, mask=None):
    """The weighted mean of d_weights is d_out · out, as FlashAttention has it."""
    scores = q @ turned(k) / math.sqrt(q.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    mean = (d_out * attention(q, k, v, mask)).sum(axis=-1, keepdims=True)
    d_scores = weights * (d_out @ turned(v) - mean) / math.sqrt(k.shape[-1])
    return [d_scores @ k, turned(d_scores) @ q, turned(weights) @ d_out]


@fair("output_for_mean", "attention_backward")
def attention_by_the_output_alone(d_out, q, k, v, mask=None):
    """The weighted mean of d_weights is d_out · out, as FlashAttention has it."""
    return attention_by_the_output(d_out, q, k, v, mask)


@fair("scaled_queries", "attention_backward")
def attention_scales_queries(d_out, q, k, v, mask=None):
    """The queries are scaled, not the scores; masked twice, to be sure."""
    root = np.sqrt(q.shape[-1])
    small = q / root
    allowed = True if mask is None else mask
    weights = softmax(np.where(allowed, small @ turned(k), -np.inf))
    d_weights = np.where(allowed, d_out @ turned(v), 0)
    d_scores = weights * (d_weights - (weights * d_weights).sum(-1, keepdims=True))
    return d_scores @ k / root, turned(d_scores) @ small, turned(weights) @ d_out


@fair("sequences_apart", "attention_backward")
def attention_sequences_apart(d_out, q, k, v, mask=None):
    """One call for each sequence of the batch."""
    if q.ndim == 2:
        return attention_query_by_query(d_out, q, k, v, mask)
    shape = (*q.shape[:-1], k.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, shape)
    parts = [attention_sequences_apart(*row) for row in zip(d_out, q, k, v, mask, strict=True)]
    return tuple(np.stack(part) for part in zip(*parts, strict=True))


@fair("tape_all_the_way", "masked_self_attention_backward")
def self_by_tape(d_out, x, w_q, w_k, w_v, padding=None):
    """The tape from x to the output; the weights' gradients are added up by it."""
    mask = causal_mask(x.shape[-2])
    mask = mask if padding is None else mask & padding
    nodes = x, w_q, w_k, w_v = [Node(array) for array in (x, w_q, w_k, w_v)]
    q, k, v = product(x, w_q), product(x, w_k), product(x, w_v)
    scale = q.value.shape[-1] ** -0.5
    product(soft(product(q, transposed(k)), mask, scale), v).walk_back(d_out)
    return tuple(node.gradient for node in nodes)


@fair("one_product", "masked_self_attention_backward")
def self_in_one_product(d_out, x, w_q, w_k, w_v, padding=None):
    """The three weights side by side: one product forward, one back."""
    d_k = w_q.shape[1]
    fused = np.concatenate([w_q, w_k, w_v], axis=1)
    made = x @ fused
    q, k, v = made[..., :d_k], made[..., d_k : 2 * d_k], made[..., 2 * d_k :]
    mask = np.logical_and(causal_mask(x.shape[-2]), True if padding is None else padding)
    d_parts = attention_by_einsum(d_out, q, k, v, mask)
    d_x, d_fused, _ = linear_backward(np.concatenate(d_parts, axis=-1), x, fused)
    return (d_x, *np.split(d_fused, [d_k, 2 * d_k], axis=1))


def self_by_einsum(d_out, x, w_q, w_k, w_v, padding=None):
    """einsum for the weights; a list as result, in Fortran order."""
    mask = ~np.triu(np.ones((x.shape[-2],) * 2, dtype=bool), k=1)
    if padding is not None:
        mask = mask & padding
    q, k, v = (np.einsum("...td,de->...te", x, w) for w in (w_q, w_k, w_v))
    d_q, d_k, d_v = attention_by_the_output(d_out, q, k, v, mask)
    d_x = d_q @ w_q.T + d_k @ w_k.T + d_v @ w_v.T
    weights = [np.einsum("pd,pe->de", flat(x), flat(d)) for d in (d_q, d_k, d_v)]
    return [np.asfortranarray(part) for part in (d_x, *weights)]


@fair("einsum_weights", "masked_self_attention_backward")
def self_by_einsum_alone(d_out, x, w_q, w_k, w_v, padding=None):
    """einsum for the weights; a list as result, in Fortran order."""
    return self_by_einsum(d_out, x, w_q, w_k, w_v, padding)


@fair("growing_prefixes", "masked_self_attention_backward")
def self_by_prefixes(d_out, x, w_q, w_k, w_v, padding=None):
    """No mask: position t by itself, on the prefix that it may see."""
    gradients = [np.zeros(array.shape) for array in (x, w_q, w_k, w_v)]
    seen = np.ones((*x.shape[:-2], 1, x.shape[-2]), dtype=bool) if padding is None else padding
    seen = np.broadcast_to(seen, (*x.shape[:-2], 1, x.shape[-2]))
    for t in range(x.shape[-2]):
        past, now = x[..., : t + 1, :], x[..., t : t + 1, :]
        d_q, d_k, d_v = attention_by_einsum(
            d_out[..., t : t + 1, :], now @ w_q, past @ w_k, past @ w_v, seen[..., : t + 1]
        )
        for d, weight, inputs, number, where in (
            (d_q, w_q, now, 1, slice(t, t + 1)),
            (d_k, w_k, past, 2, slice(0, t + 1)),
            (d_v, w_v, past, 3, slice(0, t + 1)),
        ):
            d_x, d_weight, _ = linear_backward(d, inputs, weight)
            gradients[0][..., where, :] += d_x
            gradients[number] += d_weight
    return tuple(gradients)


@fair("double_precision", "masked_self_attention_backward")
def self_in_double(d_out, x, w_q, w_k, w_v, padding=None):
    """float64 inside, the input's dtype in the results; prints."""
    print("T =", x.shape[-2])
    dtype = x.dtype
    d_out, x, w_q, w_k, w_v = (a.astype(np.float64) for a in (d_out, x, w_q, w_k, w_v))
    result = self_by_einsum(d_out, x, w_q, w_k, w_v, padding)
    return tuple(part.astype(dtype) for part in result)
