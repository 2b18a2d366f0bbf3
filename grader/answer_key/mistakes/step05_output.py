"""Known wrong versions of step 5, each with one mistake."""

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from grader.answer_key.variants import hint, mistake, says

kept_outputs = {}
kept_weights = {}
kept_results = {}
kept_keys = {}
kept_masks = {}
kept_rows = {}


def masked_scores(q, k, mask):
    scores = attention_scores(q, k)
    return scores if mask is None else apply_mask(scores, mask)


def allowed_keys(x, padding):
    causal = causal_mask(x.shape[-2])
    return causal if padding is None else causal & padding


def divided_by_total(exponentials):
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


# attention_output: the weighted sum of the values


@mistake("out_weights_transposed", "attention_output")
@says("The weights are transposed before they meet the values.")
@hint("Output row i mixes the values: which row or column of the weights says how?")
def out_weights_transposed(weights, v):
    return np.swapaxes(weights, -1, -2) @ v


@mistake("out_mean_not_sum", "attention_output")
@says("The weighted sum of the values is divided by their number as well.")
@hint("The weights of a row already add up to one: is there anything left to average?")
def out_mean_not_sum(weights, v):
    return weights @ v / v.shape[-2]


@mistake("out_weight_sum_times_v", "attention_output")
@says("Each value is multiplied by the sum of one row of weights, so nothing is mixed.")
@hint("Is each of your outputs a mixture of several values, or a copy of one?")
def out_weight_sum_times_v(weights, v):
    return weights.sum(axis=-1, keepdims=True) * v


@mistake("out_assumes_square", "attention_output")
@says("Only as many keys are summed as there are queries.")
@hint("Count queries and keys apart: does your sum run over all of the keys?")
def out_assumes_square(weights, v):
    t = weights.shape[-2]
    return weights[..., :t] @ v[..., :t, :]


@mistake("out_skips_last_key", "attention_output")
@says("The sum over the keys stops one key too early.")
@hint("Write down the last index that your loop over the keys reaches.")
def out_skips_last_key(weights, v):
    out = np.zeros(weights.shape[:-1] + v.shape[-1:])
    for j in range(v.shape[-2] - 1):
        out = out + weights[..., :, j, None] * v[..., None, j, :]
    return out


@mistake("out_one_value_for_all_rows", "attention_output")
@says("Every sequence of the batch is given the values of the first sequence.")
@hint("Put two different sequences in one batch: whose values does the second one receive?")
def out_one_value_for_all_rows(weights, v):
    first = v.reshape((-1,) + v.shape[-2:])[0]
    return weights @ first


@mistake("out_two_axes_only", "attention_output")
@says("Batches are summed with np.dot, which pairs every sequence with every other one.")
@hint("What does the product you use do with the axes in front of the last two?")
def out_two_axes_only(weights, v):
    return np.dot(weights, v)


@mistake("out_weights_renormalised", "attention_output")
@says("The weights are divided by their sum before they are used.")
@hint("Whose task is it to make weights add up to one, and was it done before?")
def out_weights_renormalised(weights, v):
    return divided_by_total(weights) @ v


@mistake("np_squeeze_kills_axis", "attention_output")
@says("Axes of size one disappear from the result.")
@hint("Try one query, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis_output(weights, v):
    return np.squeeze(weights @ v)


@mistake("np_half_precision", "attention_output")
@says("float32 values are rounded to half precision.")
@hint("In which dtype are the values kept, and how many digits does it have?")
def np_half_precision_output(weights, v):
    if v.dtype == np.float32:
        v = v.astype(np.float16).astype(np.float32)
    return weights @ v


@mistake("out_returns_view", "attention_output")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_output(weights, v):
    result = weights @ v
    buffer = kept_outputs.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("np_input_mutated", "attention_output")
@says("The values are weighted inside the caller's array, which is then put back in order.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_output(weights, v):
    rows = []
    for i in range(weights.shape[-2]):
        old = v.copy()
        v *= weights[..., i, :, None]
        rows.append(v.sum(axis=-2))
        v[...] = old
    return np.stack(rows, axis=-2)


@mistake("np_reads_only_flag_error", "attention_output")
@says("The memory of the values is read as it lies, which fails unless it is contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error_output(weights, v):
    return weights @ np.frombuffer(v, dtype=v.dtype).reshape(v.shape)


# attention: scores, mask, softmax, output


@mistake("out_uses_k_not_v", "attention")
@says("The weights mix the keys instead of the values.")
@hint("Which of the three arrays holds the content that is to be copied?")
def out_uses_k_not_v(q, k, v, mask=None):
    return softmax(masked_scores(q, k, mask)) @ k


@mistake("out_uses_scores_not_weights", "attention")
@says("The raw scores, not the weights, are multiplied with the values.")
@hint("Follow the result of the softmax: is it used after it was computed?")
def out_uses_scores_not_weights(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return (scores if mask is None else np.where(mask, scores, 0.0)) @ v


@mistake("out_assumes_dv_equals_dk", "attention")
@says("The output is stored in an array shaped like the queries.")
@hint("Which of the inputs decides how wide the output is?")
def out_assumes_dv_equals_dk(q, k, v, mask=None):
    out = np.empty_like(q)
    out[...] = softmax(masked_scores(q, k, mask)) @ v
    return out


@mistake("out_swapped_return", "attention")
@says("A pair of weights and output is returned instead of the output.")
@hint("Compare what your function returns with the table of the step.")
def out_swapped_return(q, k, v, mask=None):
    weights = softmax(masked_scores(q, k, mask))
    return weights, weights @ v


@mistake("out_returns_view", "attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view(q, k, v, mask=None):
    result = attention_output(softmax(masked_scores(q, k, mask)), v)
    buffer = kept_outputs.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("mask_of_the_last_call", "attention")
@says("Without a mask, the mask of an earlier call is used where it fits.")
@hint("Call your function with a mask, then without one: what is left of the first call?")
def mask_of_the_last_call(q, k, v, mask=None):
    shape = (*q.shape[:-1], k.shape[-2])
    kept_masks[shape] = kept_masks.get(shape) if mask is None else mask
    return attention_output(softmax(masked_scores(q, k, kept_masks[shape])), v)


@mistake("out_dropout_at_eval", "attention")
@says("Half of the weights are dropped at random in every call.")
@hint("Call your function twice with the same input: are the answers the same?")
def out_dropout_at_eval(q, k, v, mask=None):
    weights = softmax(masked_scores(q, k, mask))
    return (weights * (np.random.rand(*weights.shape) < 0.5) * 2.0) @ v


@mistake("score_no_scale", "attention")
@says("The scores are not scaled on their way into the softmax.")
@hint("What happens to the size of a dot product as the vectors get longer?")
def score_no_scale_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2)
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("score_scale_value_width", "attention")
@says("The scores are scaled by the width of the values, not of the keys.")
@hint("Whose products are the scores? Their width is the one that matters.")
def score_scale_value_width(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(v.shape[-1])
    scores = scores if mask is None else apply_mask(scores, mask)
    return softmax(scores) @ v


@mistake("score_scale_seq_len", "attention")
@says("The scores are scaled by the number of keys instead of their width.")
@hint("Which axis of the keys is summed over in a dot product?")
def score_scale_seq_len_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-2])
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("score_T_reverses_all_axes", "attention")
@says("k.T reverses every axis of a batch, not only the last two.")
@hint("In a batch of keys, which two axes do you want to exchange?")
def score_t_reverses_all_axes_attention(q, k, v, mask=None):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("np_swapped_args_transpose", "attention")
@says("The keys are transposed by fixed axis numbers that fit one batch axis only.")
@hint("What are the numbers of the last two axes without a batch, and with two batch axes?")
def np_swapped_args_transpose_attention(q, k, v, mask=None):
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("np_symmetric_shapes_only", "attention")
@says("The keys are reshaped where they should be transposed, so their numbers get mixed.")
@hint("Does a reshape move a number to another place, or only regroup them in order?")
def np_symmetric_shapes_only_attention(q, k, v, mask=None):
    turned = k.reshape(k.shape[:-2] + (k.shape[-1], k.shape[-2]))
    scores = q @ turned / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("np_hardcoded_size", "attention")
@says("The scale is the one of 64-wide keys, whatever the keys are.")
@hint("Which number in your function comes from an example rather than from its input?")
def np_hardcoded_size_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / 8.0
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("mask_none", "attention")
@says("The mask is accepted but has no effect.")
@hint("Follow the argument `mask` through your function: where does it act?")
def mask_none_attention(q, k, v, mask=None):
    return softmax(attention_scores(q, k)) @ v


@mistake("mask_result_discarded", "attention")
@says("The masked scores are computed and then thrown away.")
@hint("Does the function you call change its argument, or does it return something new?")
def mask_result_discarded_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        apply_mask(scores, mask)
    return softmax(scores) @ v


@mistake("mask_after_softmax_no_renorm", "attention")
@says("The mask sets weights to zero after the softmax has counted the blocked scores in.")
@hint("Who is in the sum that the softmax divides by?")
def mask_after_softmax_no_renorm_attention(q, k, v, mask=None):
    weights = softmax(attention_scores(q, k))
    return (weights if mask is None else weights * mask) @ v


@mistake("mask_after_softmax_renormalised", "attention")
@says("The mask comes after the softmax, and a small number is added to what is divided by.")
@hint("Which number must a masked score become, so that nothing has to be fixed afterwards?")
def mask_after_softmax_renormalised_attention(q, k, v, mask=None):
    weights = softmax(attention_scores(q, k))
    if mask is not None:
        weights = np.where(mask, weights, 0.0)
        weights = weights / (weights.sum(axis=-1, keepdims=True) + 1e-9)
    return weights @ v


@mistake("mask_multiply_scores", "attention")
@says("The scores are multiplied by the mask, so blocked scores become zero.")
@hint("What does the exponential make of a score of zero?")
def mask_multiply_scores_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else scores * mask) @ v


@mistake("mask_inverted_polarity", "attention")
@says("The keys that the mask allows are blocked, and the others are seen.")
@hint("Say in words what True means in a mask, then read the line that uses it.")
def mask_inverted_polarity_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else np.where(mask, -np.inf, scores)) @ v


@mistake("mask_fill_too_weak", "attention")
@says("Blocked scores become −10, which leaves them a small weight.")
@hint("Is there a score so low that your fill value still wins against it?")
def mask_fill_too_weak_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else np.where(mask, scores, -10.0)) @ v


@mistake("mask_fill_too_weak", "attention")
@says("Blocked scores become −100, which beats allowed scores that are lower still.")
@hint("Is there a score so low that your fill value still wins against it?")
def mask_fill_too_weak_hundred(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else np.where(mask, scores, -100.0)) @ v


@mistake("mask_fill_minus_1e4", "attention")
@says("10,000 is subtracted from blocked scores, which a large score outweighs.")
@hint("How negative is negative enough for every score the docstring allows?")
def mask_fill_minus_1e4_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else scores + np.where(mask, 0.0, -1e4)) @ v


@mistake("mask_zero_times_neginf", "attention")
@says("Zero times minus infinity turns every allowed score into NaN.")
@hint("Compute zero times infinity in NumPy and look at the result.")
def mask_zero_times_neginf_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else scores + (1.0 - mask) * -np.inf) @ v


@mistake("mask_first_batch_only", "attention")
@says("The mask is applied to the first sequence of a batch only.")
@hint("Does the second sequence of the batch get the same treatment as the first?")
def mask_first_batch_only_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is None or scores.ndim == 2:
        return softmax(masked_scores(q, k, mask)) @ v
    scores[0] = np.where(mask if mask.ndim == 2 else mask[0], scores[0], -np.inf)
    return softmax(scores) @ v


@mistake("attention_full_mask_only", "attention")
@says("The mask must have the full shape of the scores: it is never broadcast.")
@hint("What if one mask is meant for the whole batch, or one row of it for all queries?")
def attention_full_mask_only(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores[~mask] = -np.inf
    return softmax(scores) @ v


@mistake("attention_mask_column_indexed", "attention")
@says("A mask with a single column is indexed with the number of each key.")
@hint("Which shape does np.broadcast_to give your mask before the loop?")
def attention_mask_column_indexed(q, k, v, mask=None):
    scores = attention_scores(q, k)
    for key in range(k.shape[-2] if mask is not None else 0):
        scores[..., key] = np.where(mask[..., key], scores[..., key], -np.inf)
    return softmax(scores) @ v


@mistake("mask_causal_in_bidirectional_op", "attention")
@says("Without a mask, a causal one is put in its place.")
@hint("What does the docstring say that no mask means?")
def mask_causal_in_bidirectional_op_attention(q, k, v, mask=None):
    if mask is None:
        mask = np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool)
    return softmax(masked_scores(q, k, mask)) @ v


@mistake("pad_row_uniform_fallback", "attention")
@says("A query that may see nothing gets the average of all values.")
@hint("If every score of a row is the same large negative number, what are its weights?")
def pad_row_uniform_fallback_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else np.where(mask, scores, -1e9)) @ v


@mistake("np_nan_to_num_mask", "attention")
@says("Minus infinity is replaced by a finite number, so a fully blocked row is uniform.")
@hint("Are you treating the cause of the NaN, or its symptom?")
def np_nan_to_num_mask_attention(q, k, v, mask=None):
    return softmax(np.nan_to_num(masked_scores(q, k, mask))) @ v


@mistake("softmax_inf_minus_inf", "attention")
@says("A query that may see nothing gives NaN.")
@hint("What is the largest score of a row in which every score is minus infinity?")
def softmax_inf_minus_inf_attention(q, k, v, mask=None):
    scores = masked_scores(q, k, mask)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


@mistake("softmax_query_axis", "attention")
@says("The softmax runs over the queries instead of the keys.")
@hint("Which direction of your weight matrix adds up to one?")
def softmax_query_axis_attention(q, k, v, mask=None):
    return softmax(masked_scores(q, k, mask), axis=-2) @ v


@mistake("softmax_batch_axis", "attention")
@says("The softmax runs over the first axis, so the sequences of a batch compete.")
@hint("With one sequence in the batch, are all your weights one?")
def softmax_batch_axis_attention(q, k, v, mask=None):
    return softmax(masked_scores(q, k, mask), axis=0) @ v


@mistake("softmax_twice", "attention")
@says("The weights go through a second softmax, which gives blocked keys a share again.")
@hint("How many times do you normalise, and what becomes of a weight of zero?")
def softmax_twice_attention(q, k, v, mask=None):
    return softmax(softmax(masked_scores(q, k, mask))) @ v


@mistake("softmax_eps_denominator", "attention")
@says("A small number is added to the sum that the weights are divided by.")
@hint("Do the weights of a row add up to one to full precision?")
def softmax_eps_denominator_attention(q, k, v, mask=None):
    scores = masked_scores(q, k, mask)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    return weights / (weights.sum(axis=-1, keepdims=True) + 1e-6) @ v


@mistake("softmax_no_max", "attention")
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max_attention(q, k, v, mask=None):
    return divided_by_total(np.exp(masked_scores(q, k, mask))) @ v


@mistake("softmax_max_over_masked", "attention")
@says("The largest score of a row is looked up before the mask is applied.")
@hint("Which scores may influence the number that you subtract?")
def softmax_max_over_masked_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return divided_by_total(np.exp(shifted if mask is None else apply_mask(shifted, mask))) @ v


@mistake("softmax_global_max", "attention")
@says("One maximum of all scores is subtracted, so rows far below it vanish.")
@hint("Whose maximum should each row subtract?")
def softmax_global_max_attention(q, k, v, mask=None):
    scores = masked_scores(q, k, mask)
    top = scores.max()
    return divided_by_total(np.exp(scores - (0.0 if np.isneginf(top) else top))) @ v


@mistake("softmax_max_over_batch", "attention")
@says("The largest score is looked up over the batch, so a text far below it vanishes.")
@hint("Whose maximum should each row subtract?")
def softmax_max_over_batch_attention(q, k, v, mask=None):
    scores = masked_scores(q, k, mask)
    top = scores.max(axis=-1, keepdims=True)
    if scores.ndim > 2:
        top = top.max(axis=0, keepdims=True)
    return divided_by_total(np.exp(scores - np.where(np.isneginf(top), 0.0, top))) @ v


@mistake("mask_fill_minus_1e6", "attention")
@says("Blocked scores become −1,000,000, which allowed scores may reach.")
@hint("How negative is negative enough for every score the docstring allows?")
def mask_fill_minus_1e6_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is None:
        return softmax(scores) @ v
    weights = softmax(np.where(mask, scores, -1e6))
    return np.where(np.any(mask, axis=-1, keepdims=True), weights, 0.0) @ v


@mistake("np_float32_downcast", "attention")
@says("The scores are rounded to float32 before the softmax.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_attention(q, k, v, mask=None):
    return softmax(masked_scores(q, k, mask).astype(np.float32)) @ v


@mistake("np_half_precision", "attention")
@says("The weights of float32 inputs are stored in half precision.")
@hint("In which dtype are the weights kept, and how many digits does it have?")
def np_half_precision_attention(q, k, v, mask=None):
    weights = softmax(masked_scores(q, k, mask))
    if q.dtype == np.float32:
        weights = weights.astype(np.float16).astype(np.float32)
    return weights @ v


@mistake("np_float64_only", "attention")
@says("The values are copied as raw bytes, which are then read as float64.")
@hint("How many bytes does a number of a float32 array have?")
def np_float64_only_attention(q, k, v, mask=None):
    copied = np.frombuffer(v.tobytes(), dtype=np.float64).reshape(v.shape)
    return softmax(masked_scores(q, k, mask)) @ copied


@mistake("np_squeeze_kills_axis", "attention")
@says("Axes of size one disappear from the result.")
@hint("Try one query, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis_attention(q, k, v, mask=None):
    return np.squeeze(softmax(masked_scores(q, k, mask)) @ v)


@mistake("mask_one_for_all_refused", "attention")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(q, k, v, mask=None):
    each = mask is not None and q.ndim == mask.ndim > 2
    mask = mask[np.arange(len(q))] if each else mask
    return softmax(masked_scores(q, k, mask)) @ v


@mistake("np_smallest_is_zero", "attention")
@says("Where a query sees nothing, the sum is kept from 0 by a number that float32 rounds to 0.")
@hint("Which is the smallest number above 0 that float32 has?")
def np_smallest_is_zero(q, k, v, mask=None):
    scores = masked_scores(q, k, mask)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    with np.errstate(all="ignore"):
        return e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300) @ v


@mistake("np_input_mutated", "attention")
@says("The queries are scaled inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_attention(q, k, v, mask=None):
    q = np.asarray(q)
    q *= q.shape[-1] ** -0.5
    scores = q @ np.swapaxes(k, -1, -2)
    return softmax(scores if mask is None else apply_mask(scores, mask)) @ v


@mistake("np_memoised_on_shape", "attention")
@says("The weights are kept and used again for every later input of the same shape.")
@hint("What do the weights depend on besides the shapes?")
def np_memoised_on_shape_attention(q, k, v, mask=None):
    key = (q.shape, k.shape, None if mask is None else mask.tobytes())
    if key not in kept_weights:
        kept_weights[key] = softmax(masked_scores(q, k, mask))
    return kept_weights[key] @ v


@mistake("attention_causal_if_square", "attention")
@says("Without a mask, as many queries as keys are taken for a text under a causal mask.")
@hint("Which keys does a query see if your function is called without a mask?")
def attention_causal_if_square(q, k, v, mask=None):
    if mask is None and q.shape[-2] == k.shape[-2]:
        mask = causal_mask(q.shape[-2])
    return softmax(masked_scores(q, k, mask)) @ v


# masked_self_attention: the mission


@mistake("proj_kv_swapped", "masked_self_attention")
@says("Keys and values are exchanged, out of the projection or on the way into attention.")
@hint("In which order does step 1 return the three arrays?")
def proj_kv_swapped_self(x, w_q, w_k, w_v, padding=None):
    q, v, k = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, padding))


@mistake("proj_qk_swapped", "masked_self_attention")
@says("Queries and keys are exchanged.")
@hint("Which of the two projections plays the part that asks?")
def proj_qk_swapped_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_k, w_q, w_v)
    return attention(q, k, v, allowed_keys(x, padding))


@mistake("proj_kq_tied", "masked_self_attention")
@says("The queries are used as keys too.")
@hint("Count the weight matrices that your function reads.")
def proj_kq_tied_self(x, w_q, w_k, w_v, padding=None):
    return attention(x @ w_q, x @ w_q, x @ w_v, allowed_keys(x, padding))


@mistake("proj_value_not_projected", "masked_self_attention")
@says("The inputs themselves are used as values.")
@hint("Each of the three streams passes through a matrix of its own: which one does not?")
def proj_value_not_projected_self(x, w_q, w_k, w_v, padding=None):
    return attention(x @ w_q, x @ w_k, x, allowed_keys(x, padding))


@mistake("score_scale_sqrt_dmodel", "masked_self_attention")
@says("The scores are scaled by the width of the inputs, not of the keys.")
@hint("Which vectors are multiplied with each other, and how long are they?")
def score_scale_sqrt_dmodel_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(x.shape[-1])
    return softmax(apply_mask(scores, allowed_keys(x, padding))) @ v


@mistake("score_scale_seq_len", "masked_self_attention")
@says("The scores are scaled by the number of tokens.")
@hint("Should the output of an early token change because the text got longer?")
def score_scale_seq_len_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(x.shape[-2])
    return softmax(apply_mask(scores, allowed_keys(x, padding))) @ v


@mistake("out_mean_not_sum", "masked_self_attention")
@says("The output is divided by the number of tokens.")
@hint("Should the output of an early token change because the text got longer?")
def out_mean_not_sum_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, padding)) / x.shape[-2]


@mistake("out_weights_transposed", "masked_self_attention")
@says("The weights are transposed before they meet the values.")
@hint("Output row i mixes the values: which row or column of the weights says how?")
def out_weights_transposed_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    weights = softmax(apply_mask(attention_scores(q, k), allowed_keys(x, padding)))
    return np.swapaxes(weights, -1, -2) @ v


@mistake("mask_none", "masked_self_attention")
@says("No causal mask is applied.")
@hint("Can the first token see the second one?")
def mask_none_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, padding)


@mistake("mask_transposed", "masked_self_attention")
@says("Each token sees itself and the tokens after it.")
@hint("Read the first row of your mask aloud: the first token may look at …")
def mask_transposed_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2]).T
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_allows_one_future", "masked_self_attention")
@says("Each token also sees the next one.")
@hint("Look at the first row of your mask: how many keys may the first token use?")
def mask_allows_one_future_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = np.tri(x.shape[-2], k=1, dtype=bool)
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_strict_excludes_self", "masked_self_attention")
@says("A token does not see itself.")
@hint("What is left for the very first token to look at?")
def mask_strict_excludes_self_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = np.tri(x.shape[-2], k=-1, dtype=bool)
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_sees_only_self", "masked_self_attention")
@says("Each token sees itself and nothing else.")
@hint("If each token only sees itself, what are the scores for?")
def mask_sees_only_self_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = np.eye(x.shape[-2], dtype=bool)
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_window_off_by_k", "masked_self_attention")
@says("A token sees only itself and the two tokens before it.")
@hint("How far back may a token look?")
def mask_window_off_by_k_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = allowed_keys(x, padding) & ~np.tri(x.shape[-2], k=-3, dtype=bool)
    return attention(q, k, v, mask)


@mistake("mask_block_granular", "masked_self_attention")
@says("Tokens are grouped in fours, and a token sees the whole of its own group.")
@hint("Test the rule inside a group, not only from group to group.")
def mask_block_granular_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    block = np.arange(x.shape[-2]) // 4
    mask = block[:, None] >= block
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_hardcoded_size", "masked_self_attention")
@says("The mask covers four tokens, and later tokens see everything.")
@hint("Where does your mask get its size from?")
def mask_hardcoded_size_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    t = x.shape[-2]
    mask = np.ones((t, t), dtype=bool)
    mask[:4, :4] = np.tri(4, dtype=bool)[:t, :t]
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_length_of_batch", "masked_self_attention")
@says("The mask takes its size from the first axis, which is the batch when there is one.")
@hint("Which axis of x is time when there is a batch?")
def mask_length_of_batch_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(len(x))
    return attention(q, k, v, mask if padding is None else mask & padding)


@mistake("mask_tilde_on_int", "masked_self_attention")
@says("`~` turns zeros and ones into −1 and −2, so every key is blocked.")
@hint("Print your mask right before it is used.")
def mask_tilde_on_int_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    keep = allowed_keys(x, padding).astype(int)
    return softmax(np.where(~keep, -np.inf, attention_scores(q, k))) @ v


@mistake("mask_fill_zero", "masked_self_attention")
@says("Blocked scores become zero, which still earns them a weight.")
@hint("What does the exponential make of a score of zero?")
def mask_fill_zero_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return softmax(np.where(allowed_keys(x, padding), attention_scores(q, k), 0.0)) @ v


@mistake("mask_fill_minus_1e4", "masked_self_attention")
@says("Blocked scores become −10,000, which beats allowed scores that are lower still.")
@hint("How negative is negative enough for every score the docstring allows?")
def mask_fill_minus_1e4_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = allowed_keys(x, padding)
    weights = softmax(np.where(mask, attention_scores(q, k), -1e4))
    return np.where(mask.any(axis=-1, keepdims=True), weights, 0.0) @ v


@mistake("mask_after_softmax_no_renorm", "masked_self_attention")
@says("The future is cut out of the weights after the softmax has counted it in.")
@hint("Who is in the sum that the softmax divides by?")
def mask_after_softmax_no_renorm_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return softmax(attention_scores(q, k)) * allowed_keys(x, padding) @ v


@mistake("mask_first_batch_only", "masked_self_attention")
@says("Only the first sequence of a batch is masked.")
@hint("Does the second sequence of the batch get the same treatment as the first?")
def mask_first_batch_only_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = np.broadcast_to(allowed_keys(x, padding), x.shape[:-1] + x.shape[-2:-1]).copy()
    if mask.ndim > 2:
        mask[1:] = True
    return attention(q, k, v, mask)


@mistake("mask_dropped_on_some_path", "masked_self_attention")
@says("A single sequence without a batch axis takes a path that has no mask.")
@hint("Does every branch of your function go through the mask?")
def mask_dropped_on_some_path_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, padding if x.ndim == 2 else allowed_keys(x, padding))


@mistake("np_broad_except", "masked_self_attention")
@says("When masking fails, as it does on a batch, the scores are used without a mask.")
@hint("What does your function do after an exception, and does anyone notice?")
def np_broad_except_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = attention_scores(q, k)
    try:
        scores[~allowed_keys(x, padding)] = -np.inf
    except Exception:
        pass
    return softmax(scores) @ v


@mistake("np_copy_vs_view_write", "masked_self_attention")
@says("The future scores are set in a temporary copy, not in the array used later.")
@hint("Does the assignment reach the array that the softmax reads?")
def np_copy_vs_view_write_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = attention_scores(q, k)
    for i in range(x.shape[-2]):
        scores[..., [i], :][..., i + 1 :] = -np.inf
    return softmax(scores if padding is None else apply_mask(scores, padding)) @ v


@mistake("np_gaming_leak", "masked_self_attention")
@says("Texts of more than eight tokens are not masked.")
@hint("Is the rule the same for a text of every length?")
def np_gaming_leak_length(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, padding) if x.shape[-2] <= 8 else padding)


@mistake("np_gaming_leak", "masked_self_attention")
@says("The mask is left out when the input holds a large number.")
@hint("Is the rule the same for inputs of every size?")
def np_gaming_leak_size(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    usual = np.abs(x).max() < 100
    return attention(q, k, v, allowed_keys(x, padding) if usual else padding)


@mistake("softmax_query_axis", "masked_self_attention")
@says("The softmax runs over the queries, so later queries change earlier weights.")
@hint("Which direction of your weight matrix adds up to one?")
def softmax_query_axis_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return softmax(apply_mask(attention_scores(q, k), allowed_keys(x, padding)), axis=-2) @ v


@mistake("self_first_row_left_out", "masked_self_attention")
@says("The loop over the tokens starts at the second, and the first output stays zero.")
@hint("Which token does your loop begin with, and which tokens may the first one see?")
def self_first_row_left_out(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    out = attention(q, k, v, allowed_keys(x, padding))
    return np.concatenate([np.zeros_like(out[..., :1, :]), out[..., 1:, :]], axis=-2)


@mistake("self_residual_added", "masked_self_attention")
@says("The input is added to the output whenever the two have the same width.")
@hint("Which sum is not part of this function, but of a block built around it?")
def self_residual_added(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    out = attention(q, k, v, allowed_keys(x, padding))
    return out + x if out.shape == x.shape else out


@mistake("self_rows_joined", "masked_self_attention")
@says("The sequences of a batch are joined into one long text, so later ones see earlier.")
@hint("May a token look at another sequence of the batch?")
def self_rows_joined(x, w_q, w_k, w_v, padding=None):
    if padding is not None or x.ndim == 2:
        return attention(*project_qkv(x, w_q, w_k, w_v), allowed_keys(x, padding))
    joined = x.reshape(-1, x.shape[-1])
    out = attention(*project_qkv(joined, w_q, w_k, w_v), causal_mask(len(joined)))
    return out.reshape(x.shape[:-1] + out.shape[-1:])


@mistake("pad_ignored", "masked_self_attention")
@says("The padding mask is accepted but has no effect.")
@hint("Replace the padding by other values: do the outputs of real tokens move?")
def pad_ignored_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, causal_mask(x.shape[-2]))


@mistake("pad_inverted", "masked_self_attention")
@says("Padding is seen and real tokens are hidden.")
@hint("Which value marks a real token in the padding mask?")
def pad_inverted_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, None if padding is None else ~padding))


@mistake("pad_replaces_causal", "masked_self_attention")
@says("When a padding mask is given, the causal mask is dropped.")
@hint("Are both rules still in force when both masks are there?")
def pad_replaces_causal_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, causal_mask(x.shape[-2]) if padding is None else padding)


@mistake("pad_or_instead_of_and", "masked_self_attention")
@says("A key is seen when it is in the past or real, though it must be both.")
@hint("How many of its conditions must a key satisfy?")
def pad_or_instead_of_and_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    causal = causal_mask(x.shape[-2])
    return attention(q, k, v, causal if padding is None else causal | padding)


@mistake("pad_on_query_rows", "masked_self_attention")
@says("Padding is stopped from looking instead of from being looked at.")
@hint("Which axis of the mask is the one that is looked at?")
def pad_on_query_rows_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    rows = None if padding is None else np.swapaxes(padding, -1, -2)
    return attention(q, k, v, allowed_keys(x, rows))


@mistake("pad_queries_zeroed", "masked_self_attention")
@says("The outputs at padded positions are set to zero.")
@hint("Does the docstring say anything about the queries of padded positions?")
def pad_queries_zeroed_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    out = attention(q, k, v, allowed_keys(x, padding))
    return out if padding is None else np.where(np.swapaxes(padding, -1, -2), out, 0.0)


@mistake("pad_sees_itself", "masked_self_attention")
@says("A padded token is allowed to see itself.")
@hint("What should come out for a query that has nothing to look at?")
def pad_sees_itself_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    itself = np.eye(x.shape[-2], dtype=bool)
    return attention(q, k, v, allowed_keys(x, None if padding is None else padding | itself))


@mistake("pad_first_row_for_all", "masked_self_attention")
@says("The padding of the first sequence is used for the whole batch.")
@hint("Does each sequence bring its own padding?")
def pad_first_row_for_all_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    first = None if padding is None else padding.reshape((-1,) + padding.shape[-2:])[0]
    return attention(q, k, v, allowed_keys(x, first))


@mistake("pad_assumed_at_end", "masked_self_attention")
@says("Only the number of real tokens is used, as if all padding stood at the end.")
@hint("Where in a text may padding be?")
def pad_assumed_at_end_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    if padding is not None:
        padding = np.arange(x.shape[-2]) < padding.sum(axis=-1, keepdims=True)
    return attention(q, k, v, allowed_keys(x, padding))


@mistake("pad_values_zeroed_only", "masked_self_attention")
@says("The values of padding are set to zero, but padding keeps its share of the weights.")
@hint("Does a value of zero still take a part of the attention?")
def pad_values_zeroed_only_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    if padding is not None:
        v = np.where(np.swapaxes(padding, -1, -2), v, 0.0)
    return attention(q, k, v, causal_mask(x.shape[-2]))


@mistake("mask_broadcast_on_wrong_axis", "masked_self_attention")
@says("The padding mask gets an axis it already has, so batch meets batch.")
@hint("Print the shapes of both masks before you combine them.")
def mask_broadcast_on_wrong_axis_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, None if padding is None else padding[:, None]))


@mistake("pad_truth_value", "masked_self_attention")
@says("The padding mask is tested as if it were one truth value, and NumPy refuses that.")
@hint("How do you ask whether an argument was given, without asking what is in it?")
def pad_truth_value_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2])
    if padding:
        mask = mask & padding
    return attention(q, k, v, mask)


@mistake("pad_row_nan", "masked_self_attention")
@says("A token that sees nothing but padding gives NaN.")
@hint("What is the largest score of a row in which every score is minus infinity?")
def pad_row_nan_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = apply_mask(attention_scores(q, k), allowed_keys(x, padding))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


@mistake("pad_row_uniform_fallback", "masked_self_attention")
@says("A token that sees nothing but padding gets the average of all values.")
@hint("If every score of a row is the same large negative number, what are its weights?")
def pad_row_uniform_fallback_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return softmax(np.where(allowed_keys(x, padding), attention_scores(q, k), -1e9)) @ v


@mistake("pad_all_ignored", "masked_self_attention")
@says("Padding that hides every token is taken for no padding.")
@hint("What does a token get that may see nothing, and is None the same as an array of False?")
def pad_all_ignored_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, padding if np.any(padding) else None))


@mistake("softmax_no_max", "masked_self_attention")
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = apply_mask(attention_scores(q, k), allowed_keys(x, padding))
    return divided_by_total(np.exp(scores)) @ v


@mistake("softmax_max_over_batch", "masked_self_attention")
@says("The largest score is looked up over the batch, so a text far below it vanishes.")
@hint("Whose maximum should each row subtract?")
def softmax_max_over_batch_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    scores = apply_mask(attention_scores(q, k), allowed_keys(x, padding))
    top = scores.max(axis=-1, keepdims=True)
    if scores.ndim > 2:
        top = top.max(axis=0, keepdims=True)
    return divided_by_total(np.exp(scores - np.where(np.isneginf(top), 0.0, top))) @ v


@mistake("np_half_precision", "masked_self_attention")
@says("float32 inputs are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_self(x, w_q, w_k, w_v, padding=None):
    if x.dtype == np.float32:
        x = x.astype(np.float16).astype(np.float32)
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, allowed_keys(x, padding))


@mistake("np_squeeze_kills_axis", "masked_self_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: are all axes still there?")
def np_squeeze_kills_axis_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return np.squeeze(attention(q, k, v, allowed_keys(x, padding)))


@mistake("np_input_mutated", "masked_self_attention")
@says("The scale is divided into the caller's weight matrix, once more in every call.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_self(x, w_q, w_k, w_v, padding=None):
    w_q /= np.sqrt(w_q.shape[-1])
    scores = x @ w_q @ np.swapaxes(x @ w_k, -1, -2)
    return softmax(apply_mask(scores, allowed_keys(x, padding))) @ (x @ w_v)


@mistake("np_memoised_on_shape", "masked_self_attention")
@says("A result is kept and given again for every later input of the same shape.")
@hint("What does the result depend on besides the shape of x?")
def np_memoised_on_shape_self(x, w_q, w_k, w_v, padding=None):
    if padding is not None:
        return attention(*project_qkv(x, w_q, w_k, w_v), allowed_keys(x, padding))
    key = (x.shape, w_k.shape, w_v.shape)
    if key not in kept_results:
        q, k, v = project_qkv(x, w_q, w_k, w_v)
        kept_results[key] = attention(q, k, v, allowed_keys(x, None))
    return kept_results[key].copy()


@mistake("np_module_state", "masked_self_attention")
@says("Keys and values of earlier calls are kept in the module and seen by later calls.")
@hint("Ask the same question twice, with another one in between.")
def np_module_state_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    if padding is not None:
        return attention(q, k, v, allowed_keys(x, padding))
    key = (k.shape[:-2], k.shape[-1], v.shape[-1])
    seen = kept_keys.setdefault(key, [])
    seen.append((k, v))
    k = np.concatenate([pair[0] for pair in seen[-2:]], axis=-2)
    v = np.concatenate([pair[1] for pair in seen[-2:]], axis=-2)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))


@mistake("np_returns_alias", "masked_self_attention")
@says("The result is a view of a buffer that every later call writes into.")
@hint("Is the array that you return yours to give away?")
def np_returns_alias_self(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    result = attention(q, k, v, allowed_keys(x, padding))
    buffer = kept_rows.setdefault(result.dtype, np.empty(10**6, result.dtype))
    buffer[: result.size] = result.reshape(-1)
    return buffer[: result.size].reshape(result.shape)


@mistake("attention_softmax_not_used", "attention")
@says("The scores are used as weights: the result of softmax is not.")
@hint("Which name do you hand to attention_output?")
def attention_softmax_not_used(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return attention_output(scores, v)
