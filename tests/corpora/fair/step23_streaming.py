"""Right versions of step 23 in unusual style."""

import collections
import functools

import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from grader.answer_key.variants import fair


def positions_allowed(t_q, t_k, start, stop):
    """The part of the causal mask that belongs to some of the keys."""
    return np.arange(start, stop) <= np.arange(t_k - t_q, t_k)[:, None]


@fair("finite_lowest", "partial_attention")
def partial_by_weights(q, k, v, mask=None):
    """Exponentials once, zeroed by the mask; the log of their sum."""
    scores = np.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    allowed = np.broadcast_to(True if mask is None else mask, scores.shape)
    lowest = np.finfo(scores.dtype).min
    top = np.where(allowed, scores, lowest).max(axis=-1, keepdims=True)
    e = np.exp(np.where(allowed, scores, lowest) - top) * allowed
    total = e.sum(axis=-1)
    safe = np.where(total > 0, total, 1)
    lse = np.where(total > 0, top[..., 0] + np.log(safe), -np.inf)
    return (e @ v) / safe[..., None], lse


@fair("logaddexp_reduce", "partial_attention")
def partial_logaddexp(q, k, v, mask=None):
    """np.logaddexp.reduce for the log, attention for the output; a list as result."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return [attention(q, k, v, mask), np.logaddexp.reduce(scores, axis=-1)]


@fair("few_keys_at_a_time", "partial_attention")
def partial_few_keys(q, k, v, mask=None):
    """A running maximum, eight keys at a time."""
    scores = attention_scores(q, k)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = np.full((*q.shape[:-1], 1), np.finfo(float).min)
    total, out = np.zeros(top.shape), np.zeros((*q.shape[:-1], v.shape[-1]))
    for j in range(0, k.shape[-2], 8):
        part = scores[..., j : j + 8]
        new = np.maximum(top, part.max(axis=-1, keepdims=True))
        old, fresh = np.exp(top - new), np.exp(part - new)
        total = total * old + fresh.sum(axis=-1, keepdims=True)
        out = out * old + fresh @ v[..., j : j + 8, :]
        top = new
    with np.errstate(divide="ignore"):
        lse = top + np.log(total)
    return out / np.where(total > 0, total, 1), lse[..., 0]


@fair("logaddexp", "merge_attention")
def merge_logaddexp(out_a, lse_a, out_b, lse_b):
    """np.logaddexp, and shares that are NaN turned into 0; warnings are left on."""
    lse = np.logaddexp(lse_a, lse_b)
    share_a = np.nan_to_num(np.exp(lse_a - lse))
    share_b = np.nan_to_num(np.exp(lse_b - lse))
    return share_a[..., None] * out_a + share_b[..., None] * out_b, lse


@fair("sigmoid", "merge_attention")
def merge_sigmoid(out_a, lse_a, out_b, lse_b):
    """The share of b is a sigmoid of the difference; empty sets one by one."""
    empty_a, empty_b = np.isneginf(lse_a), np.isneginf(lse_b)
    difference = np.where(empty_a | empty_b, 0.0, lse_b) - np.where(empty_a | empty_b, 0.0, lse_a)
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-difference))
    share = np.where(empty_a, 1.0, np.where(empty_b, 0.0, share))[..., None]
    low, high = np.minimum(lse_a, lse_b), np.maximum(lse_a, lse_b)
    with np.errstate(invalid="ignore"):
        more = np.log1p(np.exp(np.where(np.isneginf(low), -np.inf, low - high)))
    return (1 - share) * out_a + share * out_b, high + more


@fair("stacked", "merge_attention")
def merge_stacked(out_a, lse_a, out_b, lse_b):
    """Both sets stacked, and a softmax over the new axis."""
    lses, outs = np.stack([lse_a, lse_b]), np.stack([out_a, out_b])
    top = lses.max(axis=0)
    top = np.where(top == -np.inf, 0.0, top)
    e = np.exp(lses - top)
    total = e.sum(axis=0)
    with np.errstate(divide="ignore"):
        lse = np.log(total) + top
    total[total == 0] = 1
    return np.einsum("s...,s...d->...d", e / total, outs), lse


@fair("running_sums", "streaming_attention")
def streaming_running_sums(q, k, v, block, causal=False):
    """A running maximum, a running sum and an output that is divided once, at the end."""
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    top = np.full((*q.shape[:-1], 1), -1e300)
    total, out = np.zeros_like(top), np.zeros((*q.shape[:-1], v.shape[-1]))
    for start in range(0, t_k, block):
        keys = k[..., start : start + block, :]
        scores = q @ np.swapaxes(keys, -1, -2) / q.shape[-1] ** 0.5
        if causal:
            future = ~positions_allowed(t_q, t_k, start, start + keys.shape[-2])
            scores = np.where(future, -np.inf, scores)
        new = np.maximum(top, scores.max(axis=-1, keepdims=True))
        e, scale = np.exp(scores - new), np.exp(top - new)
        total = total * scale + e.sum(axis=-1, keepdims=True)
        out = out * scale + e @ v[..., start : start + block, :]
        top = new
    return out / total


@fair("two_passes", "streaming_attention")
def streaming_two_passes(q, k, v, block, causal=False):
    """Maximum and sum in one pass over the blocks, the output in a second."""
    if not block >= 1:
        raise ValueError(block)
    t_q, t_k = q.shape[-2], k.shape[-2]

    def scores(start):
        keys = k[..., start : start + block, :]
        s = np.einsum("...qd,...kd->...qk", q, keys) / np.sqrt(q.shape[-1])
        if causal:
            s[..., ~positions_allowed(t_q, t_k, start, start + keys.shape[-2])] = -np.inf
        return s

    starts = range(0, t_k, block)
    tops = [scores(start).max(axis=-1, keepdims=True) for start in starts]
    top = functools.reduce(np.maximum, tops)
    total = sum(np.exp(scores(start) - top).sum(axis=-1, keepdims=True) for start in starts)
    parts = (
        np.exp(scores(start) - top) @ v[..., start : start + block, :] / total for start in starts
    )
    return sum(parts)


@fair("last_block_first", "streaming_attention")
def streaming_backwards(q, k, v, block, causal=False):
    """From the last block to the first; merged in pairs at the end of each round."""
    if block <= 0:
        raise ValueError("at least one key")
    t_q, t_k = q.shape[-2], k.shape[-2]
    found = None
    for stop in range(t_k, 0, -block):
        start = max(0, stop - block)
        mask = positions_allowed(t_q, t_k, start, stop) if causal else None
        part = partial_attention(q, k[..., start:stop, :], v[..., start:stop, :], mask)
        found = part if found is None else merge_attention(*part, *found)
    return np.asfortranarray(found[0])


@fair("query_by_query", "streaming_attention")
def streaming_queries(q, k, v, block, causal=False):
    """Each query by itself, over the blocks that it may see."""
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    out = np.empty((*q.shape[:-1], v.shape[-1]))
    for i in range(t_q):
        end = t_k - t_q + i + 1 if causal else t_k
        one, so_far = q[..., i : i + 1, :], None
        for start in range(0, end, block):
            stop = min(end, start + block)
            part = partial_attention(one, k[..., start:stop, :], v[..., start:stop, :])
            so_far = part if so_far is None else merge_attention(*so_far, *part)
        out[..., i : i + 1, :] = so_far[0]
    return out


def all_parts(q, k, v, block, causal):
    """The partial results of all blocks, before any are merged."""
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    parts = []
    for start in range(0, t_k, block):
        stop = min(start + block, t_k)
        mask = positions_allowed(t_q, t_k, start, stop) if causal else None
        parts.append(partial_attention(q, k[..., start:stop, :], v[..., start:stop, :], mask))
    return parts


@fair("split_k", "streaming_attention")
def streaming_split_k(q, k, v, block, causal=False):
    """All partial results stacked, and combined at once, as flash decoding does it."""
    parts = all_parts(q, k, v, block, causal)
    outs = np.array([out for out, _ in parts])
    lses = np.array([lse for _, lse in parts])
    shares = np.exp(lses - np.logaddexp.reduce(lses, axis=0))
    return (shares[..., None] * outs).sum(axis=0)


@fair("split_k_softmax", "streaming_attention")
def streaming_split_k_softmax(q, k, v, block, causal=False):
    """A softmax over the blocks gives their shares."""
    outs, lses = map(np.stack, zip(*all_parts(q, k, v, block, causal)))
    return np.einsum("n...q,n...qd->...qd", softmax(lses, axis=0), outs)


@fair("merged_in_pairs", "streaming_attention")
def streaming_in_pairs(q, k, v, block, causal=False):
    """Neighbours are merged in rounds, each of which halves their number."""
    parts = all_parts(q, k, v, block, causal)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [merge_attention(*two[0], *two[1]) if two[1:] else two[0] for two in pairs]
    return parts[0][0]


@fair("queue", "streaming_attention")
def streaming_queue(q, k, v, block, causal=False):
    """The two parts that wait longest are merged, and the result waits again."""
    waiting = collections.deque(all_parts(q, k, v, block, causal))
    while len(waiting) > 1:
        waiting.append(merge_attention(*waiting.popleft(), *waiting.popleft()))
    return waiting[0][0]


@fair("reduced", "streaming_attention")
def streaming_reduced(q, k, v, block, causal=False):
    """A list of all parts, and functools.reduce."""
    merge = lambda a, b: merge_attention(*a, *b)
    return functools.reduce(merge, all_parts(q, k, v, block, causal))[0]


@fair("copies_collected", "streaming_attention")
def streaming_copies(q, k, v, block, causal=False):
    """Copies of all arguments in float64 at first, as a habit, and a list of all parts."""
    copies = (np.array(argument, dtype=np.float64) for argument in (q, k, v))
    parts = all_parts(*copies, block, causal)
    return functools.reduce(lambda a, b: merge_attention(*a, *b), parts)[0]


@fair("padded_to_blocks", "streaming_attention")
def streaming_padded(q, k, v, block, causal=False):
    """Keys and values are padded, so that all blocks are equally long, and cut at once."""
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    count = -(-t_k // block)
    widths = [*[(0, 0)] * (k.ndim - 2), (0, count * block - t_k), (0, 0)]
    keys, values = (np.split(np.pad(array, widths), count, axis=-2) for array in (k, v))
    parts = []
    for number in range(count):
        places = np.arange(number * block, (number + 1) * block)
        last = np.arange(t_k - t_q, t_k)[:, None] if causal else np.full((t_q, 1), t_k - 1)
        parts.append(partial_attention(q, keys[number], values[number], places <= last))
    return functools.reduce(lambda a, b: merge_attention(*a, *b), parts)[0]
