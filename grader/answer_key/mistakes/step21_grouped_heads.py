"""Known wrong versions of step 21, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention_output
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotate
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def refuse_uneven(n_heads, n_kv_heads):
    """Raise the error that the contract demands."""
    if n_heads % n_kv_heads:
        raise ValueError("n_heads is not a multiple of n_kv_heads")


def projected(x, params, n_heads, n_kv_heads):
    """Return queries, keys and values in heads."""
    refuse_uneven(n_heads, n_kv_heads)
    return (
        split_heads(linear(x, params["w_q"]), n_heads),
        split_heads(linear(x, params["w_k"]), n_kv_heads),
        split_heads(linear(x, params["w_v"]), n_kv_heads),
    )


def turned(q, k, angles):
    """Return queries and keys, turned if there are angles."""
    return (q, k) if angles is None else (rotate(q, angles), rotate(k, angles))


def shared(k, v, n_heads):
    """Return keys and values, one for each query head."""
    repeats = n_heads // k.shape[-3]
    return repeat_heads(k, repeats), repeat_heads(v, repeats)


def headed(mask):
    """Return a mask with a head axis after its batch axes."""
    return np.expand_dims(mask, -3) if np.ndim(mask) > 2 else mask


def masked(scores, mask):
    """Return the scores, -inf where the mask is False."""
    return scores if mask is None else apply_mask(scores, headed(mask))


def biased(scores, bias):
    """Add the bias to the scores."""
    return scores if bias is None else scores + bias


def mixed(weights, v, params):
    """Return the heads' outputs, merged and mixed."""
    return linear(merge_heads(attention_output(weights, v)), params["w_o"])


def attended(q, k, v, params, mask, bias):
    """Compute everything after the keys are shared."""
    return mixed(softmax(masked(biased(attention_scores(q, k), bias), mask)), v, params)


right_attention = grouped_query_attention  # a variant takes its name


@mistake("gqa_tile", "repeat_heads")
@says("The whole list of heads is repeated, not each head.")
@hint("In which order should two heads come if each is needed twice?")
def repeat_tiled(x, n_repeats):
    return np.concatenate([x] * n_repeats, axis=-3)


@mistake("gqa_repeats_time", "repeat_heads")
@says("Positions are repeated in place of heads.")
@hint("Which axis holds the heads?")
def repeat_positions(x, n_repeats):
    return np.repeat(x, n_repeats, axis=-2)


@mistake("gqa_repeats_first_axis", "repeat_heads")
@says("The first axis is repeated, which may be the batch.")
@hint("Which axis holds the heads when there is a batch?")
def repeat_first_axis(x, n_repeats):
    return np.repeat(x, n_repeats, axis=0)


@mistake("gqa_batch_missing", "repeat_heads")
@says("Exactly one batch axis is expected.")
@hint("What does your reshape do with no batch axis, or with two?")
def repeat_one_batch(x, n_repeats):
    if x.ndim != 4:
        x = x.reshape(-1, *x.shape[-3:])
    return np.repeat(x, n_repeats, axis=1)


@mistake("gqa_repeat_reshaped_wrongly", "repeat_heads")
@says("The new axis is in front of the heads when it is folded into them.")
@hint("On which side of the head axis is your new axis before the reshape?")
def repeat_reshaped(x, n_repeats):
    *batch, n, t, d = x.shape
    wide = np.broadcast_to(x[..., None, :, :, :], (*batch, n_repeats, n, t, d))
    return wide.reshape(*batch, n_repeats * n, t, d)


@mistake("gqa_first_head_only", "repeat_heads")
@says("Every head is a copy of the first one.")
@hint("Which head of x does the last head of the result come from?")
def repeat_first_head(x, n_repeats):
    return np.repeat(x[..., :1, :, :], n_repeats * x.shape[-3], axis=-3)


@mistake("gqa_no_repeat", "repeat_heads")
@says("Nothing is repeated.")
@hint("How many heads should the result have?")
def repeat_nothing(x, n_repeats):
    return x.copy()


@mistake("out_returns_view", "repeat_heads")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def repeat_same_buffer(x, n_repeats):
    return in_the_same_array(np.repeat(x, n_repeats, axis=-3))


@mistake("np_input_mutated", "repeat_heads")
@says("The caller's x gets one more axis.")
@hint("What does an assignment to .shape do to an array that your function was only lent?")
def repeat_reshapes_x(x, n_repeats):
    *batch, heads, t, d = x.shape
    x.shape = (*batch, heads, 1, t, d)
    return np.repeat(x, n_repeats, axis=-3).reshape(*batch, heads * n_repeats, t, d)


@mistake("gqa_tile", "grouped_query_attention")
@says("Query head h reads the keys of head h modulo n_kv_heads.")
@hint("Which heads share: neighbours, or every second one?")
def heads_modulo(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = (heads[..., np.arange(n_heads) % n_kv_heads, :, :] for heads in (k, v))
    return attended(q, k, v, params, mask, bias)


@mistake("gqa_values_modulo", "grouped_query_attention")
@says("Keys are shared by neighbours, values by every second head.")
@hint("Do keys and values of a query head come from the same head?")
def values_modulo(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, _ = shared(k, v, n_heads)
    v = v[..., np.arange(n_heads) % n_kv_heads, :, :]
    return attended(q, k, v, params, mask, bias)


@mistake("gqa_one_head_for_all", "grouped_query_attention")
@says("All query heads read the first head of keys and values.")
@hint("How many heads of keys are in use?")
def heads_first(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = (np.repeat(heads[..., :1, :, :], n_heads, axis=-3) for heads in (k, v))
    return attended(q, k, v, params, mask, bias)


@mistake("gqa_heads_averaged", "grouped_query_attention")
@says("Keys and values are averaged over their heads.")
@hint("Does a query head read one head of keys, or a mean of them?")
def heads_averaged(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = (np.repeat(heads.mean(-3, keepdims=True), n_heads, axis=-3) for heads in (k, v))
    return attended(q, k, v, params, mask, bias)


@mistake("score_no_scale", "grouped_query_attention")
@says("The scores are not scaled.")
@hint("What are the scores divided by?")
def scores_unscaled(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = q @ np.swapaxes(k, -1, -2)
    return mixed(softmax(masked(biased(scores, bias), mask)), v, params)


@mistake("gqa_scale_d_model", "grouped_query_attention")
@says("The scores are divided by √d_model, not by √d_head.")
@hint("How many products are summed in one score?")
def scores_by_d_model(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(x.shape[-1])
    return mixed(softmax(masked(biased(scores, bias), mask)), v, params)


@mistake("gqa_scale_model_by_heads", "grouped_query_attention")
@says("The scores are divided by √(d_model / n_heads), not by √d_head.")
@hint("From which array can you read how long a query is?")
def scores_by_model_width(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(x.shape[-1] / n_heads)
    return mixed(softmax(masked(biased(scores, bias), mask)), v, params)


@mistake("gqa_scale_all_heads", "grouped_query_attention")
@says("The scores are divided by the root of all heads' features together.")
@hint("How many products are summed in one score of one head?")
def scores_by_all(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(params["w_q"].shape[-1])
    return mixed(softmax(masked(biased(scores, bias), mask)), v, params)


@mistake("gqa_assumes_d_head", "grouped_query_attention")
@says("d_head is taken for d_model / n_heads, and the remaining columns are dropped.")
@hint("From which array can you read how large a head is?")
def d_head_of_model(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    refuse_uneven(n_heads, n_kv_heads)
    d_head = max(1, x.shape[-1] // n_heads)
    q = split_heads(linear(x, params["w_q"][:, : n_heads * d_head]), n_heads)
    k = split_heads(linear(x, params["w_k"][:, : n_kv_heads * d_head]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"][:, : n_kv_heads * d_head]), n_kv_heads)
    if angles is not None:
        q, k = turned(q, k, angles[..., : d_head // 2])
    k, v = shared(k, v, n_heads)
    weights = softmax(masked(biased(attention_scores(q, k), bias), mask))
    merged = merge_heads(attention_output(weights, v))
    return linear(merged, params["w_o"][: merged.shape[-1]])


@mistake("gqa_split_interleaved", "grouped_query_attention")
@says("Heads are cut with the wrong axis order: a head gets every n-th feature.")
@hint("Which columns belong to head 0?")
def heads_interleaved(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q = np.moveaxis(linear(x, params["w_q"]).reshape(*x.shape[:-1], -1, n_heads), -1, -3)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("gqa_merge_wrong_order", "grouped_query_attention")
@says("Heads are merged without moving them after time.")
@hint("Write down the axes before you reshape.")
def heads_merged_wrongly(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    found = attention_output(softmax(masked(biased(attention_scores(q, k), bias), mask)), v)
    return linear(found.reshape(*x.shape[:-1], -1), params["w_o"])


@mistake("gqa_w_o_missing_mix", "grouped_query_attention")
@says("The heads are summed with the rows of w_o in reverse order.")
@hint("Which rows of w_o belong to the first head?")
def heads_reversed_output(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    found = attention_output(softmax(masked(biased(attention_scores(q, k), bias), mask)), v)
    return linear(merge_heads(found[..., ::-1, :, :]), params["w_o"])


@mistake("gqa_softmax_over_queries", "grouped_query_attention")
@says("The softmax runs over the queries, not over the keys.")
@hint("Which axis of the weights sums to 1?")
def softmax_over_queries(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return mixed(softmax(masked(biased(attention_scores(q, k), bias), mask), axis=-2), v, params)


@mistake("gqa_softmax_over_heads", "grouped_query_attention")
@says("The softmax runs over the heads.")
@hint("Which axis of the weights sums to 1?")
def softmax_over_heads(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return mixed(softmax(masked(biased(attention_scores(q, k), bias), mask), axis=-3), v, params)


@mistake("mask_ignored", "grouped_query_attention")
@says("The mask is not used.")
@hint("What becomes of the argument `mask`?")
def mask_ignored(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, None, bias)


@mistake("mask_taken_for_padding", "grouped_query_attention")
@says("A matrix with as many rows as there are texts is taken for one row of padding per text.")
@hint("With 3 texts of 3 tokens, what does the causal mask look like to your code?")
def mask_taken_for_padding(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if mask is not None and x.ndim == 3 and mask.shape == x.shape[:2]:
        mask = mask[:, None]
    return right_attention(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("bias_axes_guessed", "grouped_query_attention")
@says("A bias with as many matrices as there are texts gets one of them per text, not per head.")
@hint("With 4 texts and 4 heads, what does a bias of shape (4, T, T) meet?")
def bias_taken_for_texts(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if bias is not None and bias.ndim == x.ndim == 3 and len(bias) == len(x):
        bias = bias[:, None]
    return right_attention(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("bias_axes_guessed", "grouped_query_attention")
@says("A matrix with as many rows as there are heads gets one row per head, not per query.")
@hint("With 4 heads and 4 tokens, what does a bias of shape (4, 4) meet?")
def bias_taken_for_heads(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if bias is not None and bias.ndim == 2 and len(bias) == n_heads:
        bias = bias[:, None]
    return right_attention(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("mask_inverted", "grouped_query_attention")
@says("True hides a key, where it should allow it.")
@hint("What does True mean in a mask here?")
def mask_inverted(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, None if mask is None else ~mask, bias)


@mistake("gqa_mask_no_head_axis", "grouped_query_attention")
@says("The mask gets no head axis, so its batch axis lands on the heads.")
@hint("Which axis of the scores does the first axis of a batched mask meet?")
def mask_without_head_axis(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = biased(attention_scores(q, k), bias)
    return mixed(softmax(scores if mask is None else apply_mask(scores, mask)), v, params)


@mistake("gqa_mask_after_softmax", "grouped_query_attention")
@says("Weights of hidden keys are set to 0 after the softmax.")
@hint("Do the remaining weights still sum to 1?")
def mask_after_softmax(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    weights = softmax(biased(attention_scores(q, k), bias))
    if mask is not None:
        weights = np.where(headed(mask), weights, 0.0)
    return mixed(weights, v, params)


@mistake("gqa_always_causal", "grouped_query_attention")
@says("The mask is always causal, also where None allows everything.")
@hint("What may a query see when there is no mask?")
def always_causal(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    causal = np.tri(x.shape[-2], dtype=bool)
    return attended(q, k, v, params, causal if mask is None else causal & mask, bias)


@mistake("gqa_padded_queries", "grouped_query_attention")
@says("Queries are hidden as well as keys: their outputs become 0.")
@hint("Does padding hide queries?")
def queries_zeroed(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    y = attended(q, k, v, params, mask, bias)
    if mask is None:
        return y
    seen = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2])).any(axis=-2)
    return y * seen[..., None]


@mistake("mask_finite_beside_bias", "grouped_query_attention")
@says("Hidden keys get a large negative number in place of -inf, and a bias outweighs it.")
@hint("Is there a bias that makes up for your number?")
def mask_as_number_and_zeros(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    if mask is None:
        return mixed(softmax(biased(scores, bias)), v, params)
    weights = softmax(biased(np.where(headed(mask), scores, -1e9), bias))
    return mixed(np.where(headed(mask), weights, 0.0), v, params)


@mistake("attn_blocked_uniform", "grouped_query_attention")
@says("A query that may attend to nothing averages all values.")
@hint("What is the largest score of a row that is hidden throughout?")
def blocked_uniform(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = biased(attention_scores(q, k), bias)
    if mask is not None:
        scores = np.where(headed(mask), scores, -1e30)
    return mixed(softmax(scores), v, params)


@mistake("gqa_blocked_nan", "grouped_query_attention")
@says("A query that may attend to nothing gives NaN.")
@hint("What is -inf minus -inf?")
def blocked_nan(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = masked(biased(attention_scores(q, k), bias), mask)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return mixed(e / e.sum(axis=-1, keepdims=True), v, params)


@mistake("rotary_ignored", "grouped_query_attention")
@says("The angles are not used.")
@hint("What becomes of the argument `angles`?")
def angles_ignored(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_values_too", "grouped_query_attention")
@says("Values are turned as well.")
@hint("Does what a token carries depend on where it is?")
def values_turned(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    if angles is not None:
        v = rotate(v, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_queries_only", "grouped_query_attention")
@says("Only the queries are turned.")
@hint("What is the angle between a turned query and a key that is not?")
def queries_turned_only(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q = q if angles is None else rotate(q, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_keys_only", "grouped_query_attention")
@says("Only the keys are turned.")
@hint("What is the angle between a turned key and a query that is not?")
def keys_turned_only(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    k = k if angles is None else rotate(k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_keys_backwards", "grouped_query_attention")
@says("Keys are turned the other way, so the sum of positions counts.")
@hint("Does the score depend on the difference of two angles, or on their sum?")
def keys_turned_back(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, -angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_turned_twice", "grouped_query_attention")
@says("Queries and keys are turned twice.")
@hint("How often does each query go through `rotate`?")
def turned_twice(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_before_split", "grouped_query_attention")
@says("All features are turned at once, before the split, so pairs reach across heads.")
@hint("Which feature is the partner of the first one in head 0?")
def turned_before_split(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    if angles is not None:
        repeated = [np.repeat(angles, n, axis=-1) for n in (n_heads, n_kv_heads)]
        q = split_heads(rotate(linear(x, params["w_q"]), repeated[0]), n_heads)
        k = split_heads(rotate(linear(x, params["w_k"]), repeated[1]), n_kv_heads)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_first_head_only", "grouped_query_attention")
@says("Only the first query head and the first key head are turned.")
@hint("Is every head of the result of `rotate` a turned one?")
def first_head_turned(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    if angles is not None:
        whole_q, whole_k = turned(q, k, angles)
        q = np.concatenate([whole_q[..., :1, :, :], q[..., 1:, :, :]], axis=-3)
        k = np.concatenate([whole_k[..., :1, :, :], k[..., 1:, :, :]], axis=-3)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_scaled_angles_by_head", "grouped_query_attention")
@says("Each head is turned by the angles times its number.")
@hint("Do the angles differ from head to head?")
def angles_by_head(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    if angles is not None:
        times = (1 + np.arange(n_heads))[:, None, None]
        q, k = rotate(q, angles * times), rotate(k, angles * times[:n_kv_heads])
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("bias_ignored", "grouped_query_attention")
@says("The bias is not used.")
@hint("What becomes of the argument `bias`?")
def bias_ignored(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, None)


@mistake("bias_before_scaling", "grouped_query_attention")
@says("The bias is added before the scores are scaled.")
@hint("Is the bias divided by √d_head too?")
def bias_before_scaling(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = biased(q @ np.swapaxes(k, -1, -2), bias) / np.sqrt(q.shape[-1])
    return mixed(softmax(masked(scores, mask)), v, params)


@mistake("bias_multiplied", "grouped_query_attention")
@says("The bias is multiplied with the scores.")
@hint("What should a bias of 0 change?")
def bias_multiplied(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    scores = scores if bias is None else scores * bias
    return mixed(softmax(masked(scores, mask)), v, params)


@mistake("bias_after_softmax", "grouped_query_attention")
@says("The bias is added to the weights, after the softmax.")
@hint("Do your weights still sum to 1?")
def bias_after_softmax(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    weights = biased(softmax(masked(attention_scores(q, k), mask)), bias)
    return mixed(weights, v, params)


@mistake("bias_subtracted", "grouped_query_attention")
@says("The bias is subtracted.")
@hint("Does a higher bias make a key more attractive?")
def bias_subtracted(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, None if bias is None else -bias)


@mistake("bias_first_head", "grouped_query_attention")
@says("Every head gets the bias of the first one.")
@hint("Which axis of the bias holds the heads?")
def bias_of_first_head(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    if bias is not None and bias.ndim > 2:
        bias = bias[..., :1, :, :]
    return attended(q, k, v, params, mask, bias)


@mistake("bias_transposed", "grouped_query_attention")
@says("The bias is transposed: queries and keys are swapped.")
@hint("Which axis of the bias is that of the queries?")
def bias_transposed(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    if bias is not None and bias.shape[-2] == bias.shape[-1]:
        bias = np.swapaxes(bias, -1, -2)
    return attended(q, k, v, params, mask, bias)


@mistake("mask_finite_beside_bias", "grouped_query_attention")
@says("Hidden keys get a large negative number in place of -inf, and a bias outweighs it.")
@hint("Is there a bias that makes up for your number?")
def mask_as_number(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    if mask is not None:
        scores = np.where(headed(mask), scores, -1e5)
    scores = biased(scores, bias)
    if mask is not None:
        allowed = np.broadcast_to(headed(mask), scores.shape).any(axis=-1, keepdims=True)
        return mixed(np.where(allowed, softmax(scores), 0.0), v, params)
    return mixed(softmax(scores), v, params)


@mistake("mask_finite_beside_bias", "grouped_query_attention")
@says("Hidden keys get a large negative number in place of -inf, and a bias outweighs it.")
@hint("Is there a bias that makes up for your number?")
def mask_as_smaller_number(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    if mask is not None:
        scores = np.where(headed(mask), scores, -1e4)
    return mixed(softmax(biased(scores, bias)), v, params)


@mistake("attn_blocked_uniform", "grouped_query_attention")
@says("Hidden keys get -1e9 in place of -inf: a query that may attend to nothing averages all.")
@hint("What are the weights of a row that is hidden throughout?")
def mask_as_larger_number(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    if mask is not None:
        scores = np.where(headed(mask), scores, -1e9)
    return mixed(softmax(biased(scores, bias)), v, params)


@mistake("gqa_uneven_accepted", "grouped_query_attention")
@says("n_heads that is not a multiple of n_kv_heads is accepted.")
@hint("Which keys does the last head read when the heads do not divide evenly?")
def heads_uneven(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q = split_heads(linear(x, params["w_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"]), n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = (heads[..., np.arange(n_heads) * n_kv_heads // n_heads, :, :] for heads in (k, v))
    return attended(q, k, v, params, mask, bias)


@mistake("softmax_no_max", "grouped_query_attention")
@says("The softmax does not subtract the maximum, so large scores overflow.")
@hint("What is exp(1000)?")
def softmax_overflows(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    e = np.exp(masked(biased(attention_scores(q, k), bias), mask))
    total = e.sum(axis=-1, keepdims=True)
    return mixed(e / np.where(total == 0, 1, total), v, params)


@mistake("mutates_argument", "grouped_query_attention")
@says("The bias is added to in place: the array that was passed in changes.")
@hint("To whom does the array belong that you write into?")
def bias_changed(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = attention_scores(q, k)
    if bias is not None:
        bias -= bias.mean()
        scores = scores + bias
    return mixed(softmax(masked(scores, mask)), v, params)


def grouped(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """Return right attention in groups."""
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    return attended(q, k, v, params, mask, bias)


@mistake("rotary_full_turn_rounded", "grouped_query_attention")
@says("Full turns are taken off the angles, and a full turn is taken for 6.28.")
@hint("By how much is your angle wrong after a hundred full turns?")
def turns_rounded(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    angles = None if angles is None else angles % 6.28
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("np_squeeze_kills_axis", "grouped_query_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one sequence, or a sequence of one token: are all axes still there?")
def result_squeezed(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    return np.squeeze(grouped(x, params, n_heads, n_kv_heads, mask, angles, bias))


@mistake("np_hardcoded_rank", "grouped_query_attention")
@says("All batch axes come back as one.")
@hint("What shape comes out if x has four axes?")
def one_batch_axis(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    y = grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)
    return y if y.ndim < 3 else y.reshape(-1, *y.shape[-2:])


@mistake("feature_pooled_over_time", "grouped_query_attention")
@says("The average over all positions is taken off x before the projections.")
@hint("Does a summary of the whole text sneak into early positions?")
def x_centred_over_time(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    x = x - x.mean(axis=-2, keepdims=True)
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("heads_mask_one_head_only", "grouped_query_attention")
@says("The mask reaches the first query head only.")
@hint("How many query heads have to obey the mask?")
def first_head_masked(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if mask is None:
        return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    scores = biased(attention_scores(q, k), bias)
    first = (np.arange(n_heads) == 0)[:, None, None]
    return mixed(softmax(np.where(first, masked(scores, mask), scores)), v, params)


@mistake("score_scale_seq_len", "grouped_query_attention")
@says("The output is divided by the number of positions.")
@hint("Should the first position's output depend on how long the text is?")
def output_by_length(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias) / x.shape[-2]


@mistake("gqa_batch_mixed", "grouped_query_attention")
@says("Keys and values are averaged over the sequences of a batch.")
@hint("Does the output of sequence 0 change when sequence 1 does?")
def keys_of_all_sequences(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    if x.ndim > 2:
        k, v = (np.zeros_like(part) + part.mean(axis=0, keepdims=True) for part in (k, v))
    return attended(q, k, v, params, mask, bias)


@mistake("mask_one_for_all_refused", "grouped_query_attention")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    each = mask is not None and x.ndim == mask.ndim > 2
    mask = mask[np.arange(len(x))] if each else mask
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("gqa_bias_for_every_head", "grouped_query_attention")
@says("A bias whose head axis is 1 is divided into groups, as if it had one part for each head.")
@hint("Which shapes does a bias have that broadcasts to (n_heads, T, T)?")
def bias_in_groups(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if bias is not None and bias.ndim > 2:
        groups = (n_kv_heads, n_heads // n_kv_heads)
        bias = bias.reshape(*bias.shape[:-3], *groups, *bias.shape[-2:]).reshape(bias.shape)
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("grouped_one_head_is_plain", "grouped_query_attention")
@says("With a single head of keys and values, mask, angles and bias are not used.")
@hint("What does your code do differently if n_kv_heads is 1?")
def one_head_is_plain(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_kv_heads == 1:
        mask = angles = bias = None
    return grouped(x, params, n_heads, n_kv_heads, mask, angles, bias)


@mistake("np_half_precision", "grouped_query_attention")
@says("Weights of float32 inputs are kept in half precision.")
@hint("In which dtype do you keep the weights, and how many digits does it have?")
def weights_in_half(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q, k, v = projected(x, params, n_heads, n_kv_heads)
    q, k = turned(q, k, angles)
    k, v = shared(k, v, n_heads)
    weights = softmax(masked(biased(attention_scores(q, k), bias), mask))
    if x.dtype == np.float32:
        weights = weights.astype(np.float16).astype(np.float32)
    return mixed(weights, v, params)


@mistake("out_returns_view", "grouped_query_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def result_in_same_buffer(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    return in_the_same_array(grouped(x, params, n_heads, n_kv_heads, mask, angles, bias))


@mistake("gqa_width_from_d_model", "grouped_query_attention")
@says("The scores are divided by the root of d_model / n_heads, which need not be d_head.")
@hint("How wide is a head here, and which weight says so?")
def gqa_width_from_d_model(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("n_heads is not a multiple of n_kv_heads")
    q = split_heads(linear(x, params["w_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"]), n_kv_heads)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    k, v = (repeat_heads(heads, n_heads // n_kv_heads) for heads in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(x.shape[-1] // n_heads)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = apply_mask(scores, np.expand_dims(mask, -3) if np.ndim(mask) > 2 else mask)
    return linear(merge_heads(attention_output(softmax(scores), v)), params["w_o"])


@mistake("gqa_heads_in_turns", "grouped_query_attention")
@says("Query head h uses key head h modulo n_kv_heads, so the key heads take turns.")
@hint("Which query heads share key head 0: neighbours, or every n-th?")
def gqa_heads_in_turns(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("n_heads is not a multiple of n_kv_heads")
    q = split_heads(linear(x, params["w_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"]), n_kv_heads)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    k, v = (heads[..., np.arange(n_heads) % n_kv_heads, :, :] for heads in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = apply_mask(scores, np.expand_dims(mask, -3) if np.ndim(mask) > 2 else mask)
    return linear(merge_heads(attention_output(softmax(scores), v)), params["w_o"])
