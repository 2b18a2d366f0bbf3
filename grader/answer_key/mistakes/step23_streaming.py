"""Known wrong versions of step 23, each with one mistake."""

import functools

import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention, attention_output
from grader.answer_key.variants import hint, mistake, says

kept_results, kept_arrays = {}, {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def in_half(array):
    """Return float32 numbers with float16's digits, and all others unchanged."""
    return array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array


def scored(q, k, mask):
    """Return scores, -inf where the mask is False."""
    scores = attention_scores(q, k)
    return scores if mask is None else apply_mask(scores, mask)


def logsumexp(scores):
    """Return the log of the sum of exponentials; -inf where nothing is allowed."""
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return (top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True)))[..., 0]


def joined(lse_a, lse_b):
    """Return both sums as one."""
    with np.errstate(invalid="ignore"):
        return np.logaddexp(lse_a, lse_b)


def shares(lse_a, lse_b):
    """Return the part of each set; 0 if both are empty."""
    both = joined(lse_a, lse_b)
    whole = np.where(np.isneginf(both), 0.0, both)
    return np.exp(lse_a - whole)[..., None], np.exp(lse_b - whole)[..., None]


def blocks(q, k, v, block, causal):
    """Yield each block of keys and values, with its part of the mask."""
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    for start in range(0, t_k, block):
        stop = min(t_k, start + block)
        mask = None
        if causal:
            mask = np.arange(start, stop) <= np.arange(t_k - t_q, t_k)[:, None]
        yield k[..., start:stop, :], v[..., start:stop, :], mask


def partial(q, k, v, mask=None):
    """Return the right result of `partial_attention`."""
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), logsumexp(scores)


def merged(out_a, lse_a, out_b, lse_b):
    """Return the right result of `merge_attention`."""
    share_a, share_b = shares(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, joined(lse_a, lse_b)


def streamed(q, k, v, block, causal=False, part=partial):
    """Return the right result of `streaming_attention`, or the same with other partial results."""
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out, lse = merged(out, lse, *part(q, keys, values, mask))
    return out


def nothing(q, v):
    """Return the result over no keys."""
    return np.zeros((*q.shape[:-1], v.shape[-1])), np.full(q.shape[:-1], -np.inf)


@mistake("lse_sum_not_log", "partial_attention")
@says("The sum of exponentials is returned, not its log.")
@hint("What is lse if all three scores are 0?")
def lse_without_log(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), np.exp(logsumexp(scores))


@mistake("lse_maximum", "partial_attention")
@says("The largest score is returned in place of the log of the sum.")
@hint("What is lse if all three scores are 0?")
def lse_is_maximum(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), scores.max(axis=-1)


@mistake("lse_maximum_not_added", "partial_attention")
@says("The maximum is subtracted and not added back to the log.")
@hint("Does your lse change when all scores grow by 5?")
def lse_without_maximum(q, k, v, mask=None):
    scores = scored(q, k, mask)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        lse = np.log(np.exp(scores - top).sum(axis=-1))
    return attention_output(softmax(scores), v), np.where(np.isneginf(scores).all(-1), -np.inf, lse)


@mistake("lse_mean", "partial_attention")
@says("The log of the mean of the exponentials is returned.")
@hint("What is lse if all three scores are 0?")
def lse_of_mean(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), logsumexp(scores) - np.log(k.shape[-2])


@mistake("lse_unscaled", "partial_attention")
@says("lse is computed from scores that are not divided by √d_k.")
@hint("Which scores does the softmax see, and which the sum?")
def lse_of_unscaled(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), logsumexp(scores * np.sqrt(q.shape[-1]))


@mistake("lse_of_weights", "partial_attention")
@says("lse is computed from the weights, after the softmax.")
@hint("What is the log of a sum that is always 1?")
def lse_of_weights(q, k, v, mask=None):
    scores = scored(q, k, mask)
    weights = softmax(scores)
    with np.errstate(divide="ignore"):
        return attention_output(weights, v), np.log(weights.sum(axis=-1))


@mistake("lse_over_queries", "partial_attention")
@says("The sum runs over the queries, not over the keys.")
@hint("How many numbers should lse have for 2 queries and 4 keys?")
def lse_over_queries(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), logsumexp(np.swapaxes(scores, -1, -2))


@mistake("lse_keeps_axis", "partial_attention")
@says("lse keeps the axis of the keys, with length 1.")
@hint("Which shape should lse have?")
def lse_with_axis(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return attention_output(softmax(scores), v), logsumexp(scores)[..., None]


@mistake("partial_unnormalised", "partial_attention")
@says("The output is not divided by the sum.")
@hint("Do the weights of your output sum to 1?")
def partial_not_divided(q, k, v, mask=None):
    scores = scored(q, k, mask)
    lse = logsumexp(scores)
    size = np.where(np.isneginf(lse), 0.0, np.exp(np.minimum(lse, 50)))
    return attention_output(softmax(scores), v) * size[..., None], lse


@mistake("partial_order_swapped", "partial_attention")
@says("lse is returned first.")
@hint("In which order are the two results expected?")
def partial_swapped(q, k, v, mask=None):
    scores = scored(q, k, mask)
    return logsumexp(scores), attention_output(softmax(scores), v)


@mistake("partial_mask_ignored", "partial_attention")
@says("The mask is not used.")
@hint("What becomes of the argument `mask`?")
def partial_without_mask(q, k, v, mask=None):
    scores = scored(q, k, None)
    return attention_output(softmax(scores), v), logsumexp(scores)


@mistake("lse_counts_hidden", "partial_attention")
@says("Hidden keys count in lse, though not in the output.")
@hint("Which scores are in your sum?")
def lse_with_hidden(q, k, v, mask=None):
    scores = scored(q, k, mask)
    lse = np.where(np.isneginf(scores).all(-1), -np.inf, logsumexp(scored(q, k, None)))
    return attention_output(softmax(scores), v), lse


@mistake("partial_mask_inverted", "partial_attention")
@says("True hides a key, where it should allow it.")
@hint("What does True mean in a mask here?")
def partial_inverted(q, k, v, mask=None):
    scores = scored(q, k, None if mask is None else ~mask)
    return attention_output(softmax(scores), v), logsumexp(scores)


@mistake("lse_blocked_zero", "partial_attention")
@says("Where nothing is allowed lse is 0, which is the log of 1.")
@hint("What is the log of a sum without terms?")
def lse_of_nothing_is_zero(q, k, v, mask=None):
    scores = scored(q, k, mask)
    lse = logsumexp(scores)
    return attention_output(softmax(scores), v), np.where(np.isneginf(lse), 0.0, lse)


@mistake("lse_blocked_nan", "partial_attention")
@says("Where nothing is allowed lse is NaN.")
@hint("What is -inf minus -inf?")
def lse_of_nothing_is_nan(q, k, v, mask=None):
    scores = scored(q, k, mask)
    top = scores.max(axis=-1, keepdims=True)
    lse = top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
    return attention_output(softmax(scores), v), lse[..., 0]


@mistake("partial_blocked_average", "partial_attention")
@says("Where nothing is allowed the output is the mean of all values.")
@hint("What is the output of a query that sees nothing?")
def partial_of_nothing_is_mean(q, k, v, mask=None):
    scores = scored(q, k, mask)
    lse = logsumexp(scores)
    mean = np.broadcast_to(v.mean(axis=-2, keepdims=True), (*q.shape[:-1], v.shape[-1]))
    return np.where(np.isneginf(lse)[..., None], mean, attention_output(softmax(scores), v)), lse


@mistake("lse_overflows", "partial_attention")
@says("The exponentials are taken without subtracting the maximum.")
@hint("What is exp(1000), and what is its log?")
def lse_of_large(q, k, v, mask=None):
    scores = scored(q, k, mask)
    with np.errstate(over="ignore", divide="ignore"):
        lse = np.log(np.exp(scores).sum(axis=-1))
    return attention_output(softmax(scores), v), lse


@mistake("lse_global_maximum", "partial_attention")
@says("One maximum is subtracted from all rows, and the other rows vanish.")
@hint("What is left of a row whose scores are all far below the maximum of the whole?")
def lse_one_maximum(q, k, v, mask=None):
    scores = scored(q, k, mask)
    top = scores.max()
    top = 0.0 if np.isneginf(top) else top
    with np.errstate(divide="ignore"):
        return attention_output(softmax(scores), v), top + np.log(np.exp(scores - top).sum(axis=-1))


@mistake("np_squeeze_kills_axis", "partial_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_partial(q, k, v, mask=None):
    return tuple(np.squeeze(result) for result in partial(q, k, v, mask))


@mistake("partial_batch_mixed", "partial_attention")
@says("Every sequence of a batch is compared with the keys of the first.")
@hint("Whose keys does the second sequence read?")
def partial_first_keys(q, k, v, mask=None):
    return partial(q, k if k.ndim == 2 else np.broadcast_to(k[:1], k.shape), v, mask)


@mistake("np_half_precision", "partial_attention")
@says("float32 queries and keys are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_partial(q, k, v, mask=None):
    return partial(in_half(q), in_half(k), v, mask)


@mistake("mask_one_for_all_refused", "partial_attention")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(q, k, v, mask=None):
    each = mask is not None and q.ndim == mask.ndim > 2
    mask = mask[np.arange(len(q))] if each else mask
    return partial(q, k, v, mask)


@mistake("np_memoised_on_shape", "partial_attention")
@says("The first result is kept and given again for every later question of the same shape.")
@hint("What does the result depend on besides the shapes of the arguments?")
def np_memoised_on_shape_partial(q, k, v, mask=None):
    key = ("partial", q.shape, k.shape, v.shape, q.dtype)
    if key not in kept_results:
        kept_results[key] = partial(q, k, v, mask)
    return kept_results[key]


@mistake("out_returns_view", "partial_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_partial(q, k, v, mask=None):
    out, lse = partial(q, k, v, mask)
    return in_the_same_array(out), lse


@mistake("np_input_mutated", "partial_attention")
@says("The caller's queries are divided by √d_k.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_partial(q, k, v, mask=None):
    q /= np.sqrt(q.shape[-1])
    return partial(q * np.sqrt(q.shape[-1]), k, v, mask)


@mistake("merge_sum", "merge_attention")
@says("The outputs are added without shares.")
@hint("What comes out if a and b are equal?")
def merge_added(out_a, lse_a, out_b, lse_b):
    return out_a + out_b, joined(lse_a, lse_b)


@mistake("merge_mean", "merge_attention")
@says("Both sets get the same share, however many keys they have.")
@hint("What is the share of a set with a very low lse?")
def merge_averaged(out_a, lse_a, out_b, lse_b):
    return (out_a + out_b) / 2, joined(lse_a, lse_b)


@mistake("merge_winner", "merge_attention")
@says("The output of the set with the larger lse is taken, the other dropped.")
@hint("Does the smaller set count at all?")
def merge_larger_only(out_a, lse_a, out_b, lse_b):
    larger = (lse_a >= lse_b)[..., None]
    return np.where(larger, out_a, out_b), joined(lse_a, lse_b)


@mistake("merge_shares_by_lse", "merge_attention")
@says("The shares are those of the logs, not of the sums.")
@hint("Is the share of a set proportional to its lse?")
def merge_by_logs(out_a, lse_a, out_b, lse_b):
    total = lse_a + lse_b
    with np.errstate(all="ignore"):
        share = np.nan_to_num(lse_a / total)[..., None]
    return share * out_a + (1 - share) * out_b, joined(lse_a, lse_b)


@mistake("merge_shares_swapped", "merge_attention")
@says("Each set gets the share of the other.")
@hint("Which output belongs to the larger lse?")
def merge_crossed(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    return share_b * out_a + share_a * out_b, joined(lse_a, lse_b)


@mistake("merge_lse_added", "merge_attention")
@says("The logs are added: that is the log of the product.")
@hint("What is the lse of two sets with lse 0?")
def merge_lse_sum(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, lse_a + lse_b


@mistake("merge_lse_maximum", "merge_attention")
@says("The larger lse is returned, and the smaller one forgotten.")
@hint("What is the lse of two sets with lse 0?")
def merge_lse_maximum(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, np.maximum(lse_a, lse_b)


@mistake("merge_lse_of_first", "merge_attention")
@says("The lse of the first set is returned.")
@hint("How many keys does the result stand for?")
def merge_lse_first(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, lse_a + np.zeros_like(lse_b)


@mistake("merge_not_renormalised", "merge_attention")
@says("Outputs are multiplied by their sums, and not divided by both together.")
@hint("What comes out if a and b are equal?")
def merge_not_divided(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isneginf(top), 0, top)
    out = np.exp(lse_a - top)[..., None] * out_a + np.exp(lse_b - top)[..., None] * out_b
    return out, joined(lse_a, lse_b)


@mistake("merge_empty_nan", "merge_attention")
@says("Two empty sets give NaN.")
@hint("What is -inf minus -inf?")
def merge_both_empty_nan(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    part_a, part_b = np.exp(lse_a - top), np.exp(lse_b - top)
    total = part_a + part_b
    out = (part_a / total)[..., None] * out_a + (part_b / total)[..., None] * out_b
    return out, top + np.log(total)


@mistake("merge_first_empty_nan", "merge_attention")
@says("An empty first set gives NaN: its lse is subtracted from the other.")
@hint("Which of the two logs do you subtract, and what if it is -inf?")
def merge_from_first(out_a, lse_a, out_b, lse_b):
    with np.errstate(all="ignore"):
        ratio = np.exp(lse_b - lse_a)
        out = (out_a + ratio[..., None] * out_b) / (1 + ratio)[..., None]
        return out, lse_a + np.log1p(ratio)


@mistake("merge_second_empty_nan", "merge_attention")
@says("An empty second set gives NaN: its lse is subtracted from the other.")
@hint("Which of the two logs do you subtract, and what if it is -inf?")
def merge_from_second(out_a, lse_a, out_b, lse_b):
    with np.errstate(all="ignore"):
        ratio = np.exp(lse_a - lse_b)
        out = (out_b + ratio[..., None] * out_a) / (1 + ratio)[..., None]
        return out, lse_b + np.log1p(ratio)


@mistake("merge_empty_as_one", "merge_attention")
@says("An empty set counts as one key: its -inf is replaced by 0.")
@hint("What is exp(0), and how many keys has an empty set?")
def merge_empty_counts(out_a, lse_a, out_b, lse_b):
    lse_a, lse_b = (np.where(np.isneginf(lse), 0.0, lse) for lse in (lse_a, lse_b))
    share_a, share_b = shares(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, joined(lse_a, lse_b)


@mistake("merge_empty_lse_lost", "merge_attention")
@says("Where both sets are empty lse is 0.")
@hint("How does the next merge learn that there were no keys?")
def merge_empty_is_zero(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    lse = joined(lse_a, lse_b)
    return share_a * out_a + share_b * out_b, np.where(np.isneginf(lse), 0.0, lse)


@mistake("merge_overflows", "merge_attention")
@says("The exponentials of the logs are taken as they are, and overflow.")
@hint("What is exp(1000)?")
def merge_of_large(out_a, lse_a, out_b, lse_b):
    with np.errstate(all="ignore"):
        part_a, part_b = np.exp(lse_a), np.exp(lse_b)
        total = part_a + part_b
        safe = np.where(total == 0, 1, total)
        out = (part_a / safe)[..., None] * out_a + (part_b / safe)[..., None] * out_b
        return out, np.log(total)


@mistake("merge_share_axis", "merge_attention")
@says("The shares meet the features of the output, not its positions.")
@hint("Which axis does a share need before it is multiplied with an output?")
def merge_along_features(out_a, lse_a, out_b, lse_b):
    both = joined(lse_a, lse_b)
    share = np.exp(lse_a - np.where(np.isneginf(both), 0, both))
    share = np.resize(share, out_a.shape)
    return share * out_a + (1 - share) * out_b, both


@mistake("np_squeeze_kills_axis", "merge_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_merge(out_a, lse_a, out_b, lse_b):
    return tuple(np.squeeze(result) for result in merged(out_a, lse_a, out_b, lse_b))


@mistake("merge_batch_mixed", "merge_attention")
@says("The shares are averaged over the batch.")
@hint("Does every sequence of a batch have shares of its own?")
def merge_shares_of_batch(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    if share_a.ndim > 2:
        share_a, share_b = share_a.mean(axis=0), share_b.mean(axis=0)
    return share_a * out_a + share_b * out_b, joined(lse_a, lse_b)


@mistake("np_half_precision", "merge_attention")
@says("float32 outputs are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_merge(out_a, lse_a, out_b, lse_b):
    return merged(in_half(out_a), lse_a, in_half(out_b), lse_b)


@mistake("np_memoised_on_shape", "merge_attention")
@says("The first result is kept and given again for every later question of the same shape.")
@hint("What does the result depend on besides the shapes of the arguments?")
def np_memoised_on_shape_merge(out_a, lse_a, out_b, lse_b):
    key = ("merge", out_a.shape, out_a.dtype)
    if key not in kept_results:
        kept_results[key] = merged(out_a, lse_a, out_b, lse_b)
    return kept_results[key]


@mistake("out_returns_view", "merge_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_merge(out_a, lse_a, out_b, lse_b):
    out, lse = merged(out_a, lse_a, out_b, lse_b)
    return in_the_same_array(out), lse


@mistake("np_input_mutated", "merge_attention")
@says("The shares are multiplied into the caller's outputs.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_merge(out_a, lse_a, out_b, lse_b):
    share_a, share_b = shares(lse_a, lse_b)
    out_a *= share_a
    out_b *= share_b
    return out_a + out_b, joined(lse_a, lse_b)


@mistake("streaming_last_block", "streaming_attention")
@says("Only the last block counts.")
@hint("What becomes of the blocks before?")
def stream_last_only(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out, lse = partial_attention(q, keys, values, mask)
    return out


@mistake("streaming_blocks_added", "streaming_attention")
@says("The outputs of the blocks are added.")
@hint("What comes out if all values are 1?")
def stream_added(q, k, v, block, causal=False):
    out, _ = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out = out + partial_attention(q, keys, values, mask)[0]
    return out


@mistake("streaming_blocks_averaged", "streaming_attention")
@says("The outputs of the blocks are averaged.")
@hint("Does a block with low scores count as much as one with high scores?")
def stream_averaged(q, k, v, block, causal=False):
    parts = [
        partial_attention(q, keys, values, mask)[0]
        for keys, values, mask in blocks(q, k, v, block, causal)
    ]
    return np.mean(parts, axis=0)


@mistake("streaming_lse_not_carried", "streaming_attention")
@says("The lse of the last block is carried on, not that of all blocks so far.")
@hint("After three blocks, how many keys does your lse stand for?")
def stream_lse_of_block(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        new, lse_new = partial_attention(q, keys, values, mask)
        out, _ = merge_attention(out, lse, new, lse_new)
        lse = lse_new
    return out


@mistake("streaming_starts_at_zero", "streaming_attention")
@says("The empty beginning has lse 0, so it counts as one key with value 0.")
@hint("What is the lse of no keys?")
def stream_from_zero(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    lse = np.zeros_like(lse)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_remainder_dropped", "streaming_attention")
@says("A last block that is shorter is dropped.")
@hint("10 keys in blocks of 4: how many keys does your loop see?")
def stream_whole_blocks(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    length = k.shape[-2]
    end = length - length % block if length >= block else length
    out, lse = nothing(q, v)
    for number, (keys, values, mask) in enumerate(blocks(q, k, v, block, causal)):
        if number * block < end:
            out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_remainder_dropped", "streaming_attention")
@says("A block that is not full is dropped, even if it is the only one.")
@hint("10 keys in blocks of 4: how many keys does your loop see?")
def stream_full_blocks(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        if keys.shape[-2] == block:
            out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_blocks_overlap", "streaming_attention")
@says("Blocks overlap by one key, which counts twice.")
@hint("Where does one block end, and where does the next one begin?")
def stream_overlapping(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    for start in range(0, t_k, block):
        stop = min(t_k, start + block + 1)
        mask = np.arange(start, stop) <= np.arange(t_k - t_q, t_k)[:, None] if causal else None
        part = partial_attention(q, k[..., start:stop, :], v[..., start:stop, :], mask)
        out, lse = merge_attention(out, lse, *part)
    return out


@mistake("streaming_causal_ignored", "streaming_attention")
@says("`causal` is not used.")
@hint("What becomes of the argument `causal`?")
def stream_never_causal(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, False):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_always_causal", "streaming_attention")
@says("The mask is always causal.")
@hint("What should a query see when `causal` is False?")
def stream_always_causal(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    if k.shape[-2] < q.shape[-2]:
        causal = False
        return attention(q, k, v)
    for keys, values, mask in blocks(q, k, v, block, True):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_local_triangle", "streaming_attention")
@says("Each block gets a lower triangle of its own, as if it stood at the beginning.")
@hint("Which keys of the second block may the last query see?")
def stream_local_mask(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        if causal:
            mask = np.tri(q.shape[-2], keys.shape[-2], dtype=bool)
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_top_left", "streaming_attention")
@says("The queries are taken for the first positions.")
@hint("With 2 queries and 5 keys, which keys may the first query see?")
def stream_upper_left(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    for start in range(0, t_k, block):
        here = slice(start, min(t_k, start + block))
        mask = np.arange(t_k)[here] <= np.arange(t_q)[:, None] if causal else None
        part = partial_attention(q, k[..., here, :], v[..., here, :], mask)
        out, lse = merge_attention(out, lse, *part)
    return out


@mistake("streaming_whole_blocks_visible", "streaming_attention")
@says("A block is masked as a whole: a query sees all of its block.")
@hint("May a query see the keys of its own block that come later?")
def stream_mask_by_block(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    for start in range(0, t_k, block):
        here = slice(start, min(t_k, start + block))
        seen = start <= np.arange(t_k - t_q, t_k)[:, None]
        mask = seen & np.ones((t_q, len(range(t_k)[here])), dtype=bool) if causal else None
        part = partial_attention(q, k[..., here, :], v[..., here, :], mask)
        out, lse = merge_attention(out, lse, *part)
    return out


@mistake("streaming_one_block_sees_all", "streaming_attention")
@says("A block larger than all keys is a case of its own, in which causal is forgotten.")
@hint("What does your code return if one block holds all keys, and causal is True?")
def stream_one_block(q, k, v, block, causal=False):
    if block > k.shape[-2]:
        return partial_attention(q, k, v)[0]
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_future_block_skipped", "streaming_attention")
@says("Blocks after the first query's position are skipped for all queries.")
@hint("Which blocks does the last query see?")
def stream_stops_early(q, k, v, block, causal=False):
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        if causal and not mask[0].any():
            break
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_whole_matrix", "streaming_attention")
@says("All scores are computed at once, not block by block.")
@hint("How many entries has your largest array?")
def stream_full_scores(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    mask = causal_mask(q.shape[-2], k.shape[-2]) if causal else None
    return attention(q, k, v, mask)


@mistake("streaming_whole_mask", "streaming_attention")
@says("The mask of all queries and keys is made at once.")
@hint("How many entries has your mask?")
def stream_full_mask(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    whole = (
        np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool) if causal else None
    )
    for start in range(0, k.shape[-2], block):
        here = slice(start, start + block)
        mask = whole[:, here] if causal else None
        part = partial_attention(q, k[..., here, :], v[..., here, :], mask)
        out, lse = merge_attention(out, lse, *part)
    return out


whole_mask = functools.lru_cache(causal_mask)


@mistake("streaming_whole_mask", "streaming_attention")
@says("The mask of all queries and keys is made once and kept.")
@hint("How many entries has your mask?")
def stream_kept_mask(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    whole = whole_mask(q.shape[-2], k.shape[-2]) if causal else None
    for start in range(0, k.shape[-2], block):
        here = slice(start, start + block)
        mask = whole[:, here] if causal else None
        part = partial_attention(q, k[..., here, :], v[..., here, :], mask)
        out, lse = merge_attention(out, lse, *part)
    return out


@mistake("streaming_blocks_of_queries", "streaming_attention")
@says("The queries are cut into blocks, and each of them still meets all keys at once.")
@hint("How many keys does one of your blocks hold?")
def stream_query_blocks(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    mask = causal_mask(q.shape[-2], k.shape[-2]) if causal else None
    parts = []
    for start in range(0, q.shape[-2], block):
        here = slice(start, start + block)
        parts.append(attention(q[..., here, :], k, v, None if mask is None else mask[here]))
    return np.concatenate(parts, axis=-2)


@mistake("streaming_block_misread", "streaming_attention")
@says("block is taken for the number of blocks, not for the number of keys in one.")
@hint("With 20 keys and block = 4, how many keys does a block hold?")
def stream_number_of_blocks(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    size = -(-k.shape[-2] // block)
    for keys, values, mask in blocks(q, k, v, size, causal):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_block_misread", "streaming_attention")
@says("block is never used: each query meets all keys at once.")
@hint("With 20 keys and block = 4, how many keys does one of your products take?")
def stream_query_by_query(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    rows = []
    for i in range(t_q):
        seen = np.arange(t_k) <= t_k - t_q + i if causal else None
        rows.append(partial_attention(q[..., i : i + 1, :], k, v, seen)[0])
    return np.concatenate(rows, axis=-2)


@mistake("streaming_block_misread", "streaming_attention")
@says("A block holds one key too many.")
@hint("How many keys lie between your start and your stop?")
def stream_one_too_many(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block + 1, causal):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("streaming_scores_collected", "streaming_attention")
@says("Something as large as all scores is kept or made: they themselves, a mask or weights.")
@hint("What is together as large as the matrix that you avoid?")
def stream_collects_scores(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    scores = [scored(q, keys, mask) for keys, _, mask in blocks(q, k, v, block, causal)]
    top = np.max([part.max(axis=-1) for part in scores], axis=0)[..., None]
    top = np.where(np.isneginf(top), 0, top)
    out, total = nothing(q, v)[0], 0.0
    for part, (_, values, _) in zip(scores, blocks(q, k, v, block, causal)):
        e = np.exp(part - top)
        out, total = out + e @ values, total + e.sum(axis=-1, keepdims=True)
    return out / np.where(total == 0, 1, total)


@mistake("streaming_no_running_maximum", "streaming_attention")
@says("Exponentials of all blocks are summed without a running maximum.")
@hint("What is exp of a score of 1000?")
def stream_overflows(q, k, v, block, causal=False):
    out, total = nothing(q, v)[0], 0.0
    with np.errstate(all="ignore"):
        for keys, values, mask in blocks(q, k, v, block, causal):
            e = np.exp(scored(q, keys, mask))
            out, total = out + e @ values, total + e.sum(axis=-1, keepdims=True)
        return out / np.where(total == 0, 1, total)


@mistake("streaming_maximum_of_first_block", "streaming_attention")
@says("The maximum of the first block is subtracted from all of them.")
@hint("What if a later block holds much larger scores?")
def stream_first_maximum(q, k, v, block, causal=False):
    out, total, top = nothing(q, v)[0], 0.0, None
    with np.errstate(all="ignore"):
        for keys, values, mask in blocks(q, k, v, block, causal):
            scores = scored(q, keys, mask)
            if top is None:
                top = scores.max(axis=-1, keepdims=True)
                top = np.where(np.isneginf(top), 0, top)
            e = np.exp(scores - top)
            out, total = out + e @ values, total + e.sum(axis=-1, keepdims=True)
        return out / np.where(total == 0, 1, total)


@mistake("streaming_not_rescaled", "streaming_attention")
@says("The running maximum changes, and what was summed before is not rescaled.")
@hint("In which units is the sum of the earlier blocks when the maximum grows?")
def stream_without_rescaling(q, k, v, block, causal=False):
    out, total = nothing(q, v)[0], 0.0
    for keys, values, mask in blocks(q, k, v, block, causal):
        scores = scored(q, keys, mask)
        top = scores.max(axis=-1, keepdims=True)
        top = np.where(np.isneginf(top), 0, top)
        e = np.exp(scores - top)
        out, total = out + e @ values, total + e.sum(axis=-1, keepdims=True)
    return out / np.where(total == 0, 1, total)


@mistake("streaming_zero_block", "streaming_attention")
@says("A block of 0 keys gives zeros in place of an error.")
@hint("What should a block of 0 do?")
def stream_no_block(q, k, v, block, causal=False):
    if block < 1:
        return nothing(q, v)[0]
    out, lse = nothing(q, v)
    for keys, values, mask in blocks(q, k, v, block, causal):
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, values, mask))
    return out


@mistake("np_squeeze_kills_axis", "streaming_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_stream(q, k, v, block, causal=False):
    return np.squeeze(streamed(q, k, v, block, causal))


@mistake("streaming_batch_mixed", "streaming_attention")
@says("Every sequence of a batch is compared with the keys of the first.")
@hint("Whose keys does the second sequence read?")
def stream_first_keys(q, k, v, block, causal=False):
    return streamed(q, k if k.ndim == 2 else np.broadcast_to(k[:1], k.shape), v, block, causal)


@mistake("np_half_precision", "streaming_attention")
@says("Blocks of float32 queries and keys are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_stream(q, k, v, block, causal=False):
    def roughly(q, keys, values, mask):
        return partial(in_half(q), in_half(keys), values, mask)

    return streamed(q, k, v, block, causal, roughly)


@mistake("np_memoised_on_shape", "streaming_attention")
@says("The first result is kept and given again for every later question of the same shape.")
@hint("What does the result depend on besides the shapes of the arguments?")
def np_memoised_on_shape_stream(q, k, v, block, causal=False):
    key = ("stream", q.shape, k.shape, v.shape, q.dtype, block, causal)
    if key not in kept_results:
        kept_results[key] = streamed(q, k, v, block, causal)
    return kept_results[key]


@mistake("out_returns_view", "streaming_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_stream(q, k, v, block, causal=False):
    return in_the_same_array(streamed(q, k, v, block, causal))


@mistake("np_input_mutated", "streaming_attention")
@says("The caller's queries are divided by √d_k.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_stream(q, k, v, block, causal=False):
    q /= np.sqrt(q.shape[-1])
    return streamed(q * np.sqrt(q.shape[-1]), k, v, block, causal)


@mistake("streaming_sum_not_rescaled", "streaming_attention")
@says("The running sum of the exponentials is not rescaled when the maximum rises.")
@hint("When the maximum rises, what becomes of all that was added up before?")
def streaming_sum_not_rescaled(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block must be at least 1")
    t_q, t_k = q.shape[-2], k.shape[-2]
    best = np.full(q.shape[:-1], -np.inf)
    total, mixed = np.zeros(q.shape[:-1]), np.zeros((*q.shape[:-1], v.shape[-1]))
    for start in range(0, t_k, block):
        scores = attention_scores(q, k[..., start : start + block, :])
        if causal:
            last = np.arange(t_k - t_q, t_k)[:, None]
            scores = apply_mask(scores, np.arange(start, start + scores.shape[-1]) <= last)
        higher = np.maximum(best, scores.max(axis=-1))
        base = np.where(np.isneginf(higher), 0, higher)
        shrink, parts = np.exp(best - base), np.exp(scores - base[..., None])
        total = total + parts.sum(axis=-1)
        mixed = mixed * shrink[..., None] + parts @ v[..., start : start + block, :]
        best = higher
    return mixed / np.where(total == 0, 1, total)[..., None]


@mistake("streaming_output_not_rescaled", "streaming_attention")
@says("The running output is not rescaled when the maximum rises.")
@hint("When the maximum rises, what becomes of all that was added up before?")
def streaming_output_not_rescaled(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block must be at least 1")
    t_q, t_k = q.shape[-2], k.shape[-2]
    best = np.full(q.shape[:-1], -np.inf)
    total, mixed = np.zeros(q.shape[:-1]), np.zeros((*q.shape[:-1], v.shape[-1]))
    for start in range(0, t_k, block):
        scores = attention_scores(q, k[..., start : start + block, :])
        if causal:
            last = np.arange(t_k - t_q, t_k)[:, None]
            scores = apply_mask(scores, np.arange(start, start + scores.shape[-1]) <= last)
        higher = np.maximum(best, scores.max(axis=-1))
        base = np.where(np.isneginf(higher), 0, higher)
        shrink, parts = np.exp(best - base), np.exp(scores - base[..., None])
        total = total * shrink + parts.sum(axis=-1)
        mixed = mixed + parts @ v[..., start : start + block, :]
        best = higher
    return mixed / np.where(total == 0, 1, total)[..., None]
