"""Known wrong versions of step 16, each with one mistake."""

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def turned(array):
    """Swap the last two axes."""
    return np.swapaxes(array, -1, -2)


def weights_of(q, k, mask):
    """Return right weights."""
    scores = attention_scores(q, k)
    return softmax(scores if mask is None else apply_mask(scores, mask))


def gradients(d_out, q, k, v, mask=None, weights=None, d_scores=None):
    """Return right gradients of attention, except for the arguments that are passed in."""
    weights = weights_of(q, k, mask) if weights is None else weights
    if d_scores is None:
        d_scores = softmax_backward(d_out @ turned(v), weights)
    d_scores = d_scores / np.sqrt(q.shape[-1])
    return d_scores @ k, turned(d_scores) @ q, turned(weights) @ d_out


def right_mask(x, padding):
    """Return the causal mask, with the padding if there is any."""
    mask = causal_mask(x.shape[-2])
    return mask if padding is None else mask & padding


def projected_back(d_parts, x, weights):
    """Return right gradients of x, from each of the three, and of the weights."""
    parts = [linear_backward(d, x, w) for d, w in zip(d_parts, weights, strict=True)]
    return [part[0] for part in parts], [part[1] for part in parts]


def self_attention_back(d_out, x, w_q, w_k, w_v, mask, back=gradients):
    """Return right gradients of self-attention under that mask."""
    d_parts = back(d_out, *project_qkv(x, w_q, w_k, w_v), mask)
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (sum(d_x), *d_weights)


# attention_backward: the scale


@mistake("attn_grad_no_scale", "attention_backward")
@says("The gradients of q and k are right but for a factor of √d_k: the scale is missing.")
@hint("The scores are divided by something on the way forward. What does that do to a slope?")
def attention_no_scale(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_q * np.sqrt(q.shape[-1]), d_k * np.sqrt(q.shape[-1]), d_v


@mistake("attn_grad_scaled_twice", "attention_backward")
@says("The gradients of q and k are right but for a factor of √d_k: it is divided by twice.")
@hint("How often do the scores meet √d_k on the way forward, and how often on your way back?")
def attention_scaled_twice(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_q / np.sqrt(q.shape[-1]), d_k / np.sqrt(q.shape[-1]), d_v


@mistake("attn_grad_scale_on_q_only", "attention_backward")
@says("The gradient of q is divided by √d_k, that of k is not.")
@hint("Through which array do both d_q and d_k get their slopes?")
def attention_scale_on_q_only(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_q, d_k * np.sqrt(q.shape[-1]), d_v


@mistake("attn_grad_forward_unscaled", "attention_backward")
@says("The weights are made of scores that nobody has divided by √d_k.")
@hint("Are the weights of your backward pass those of the forward pass?")
def attention_forward_unscaled(d_out, q, k, v, mask=None):
    scores = attention_scores(q, k) * np.sqrt(q.shape[-1])
    weights = softmax(scores if mask is None else apply_mask(scores, mask))
    return gradients(d_out, q, k, v, mask, weights)


# attention_backward: the products


@mistake("attn_grad_softmax_skipped", "attention_backward")
@says("The gradient passes the softmax as if it were not there.")
@hint("Which function of step 15 comes between d_weights and d_scores?")
def attention_softmax_skipped(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v, mask, d_scores=d_out @ turned(v))


@mistake("softmax_grad_no_second_term", "attention_backward")
@says("The second term of the softmax's gradient is missing.")
@hint("What do the numbers in a row of d_scores add up to, and what should they?")
def attention_no_second_term(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v, mask, d_scores=weights_of(q, k, mask) * (d_out @ turned(v)))


@mistake("softmax_grad_diagonal_only", "attention_backward")
@says("Each weight is taken to depend on its own score only.")
@hint("If one score of a row rises, what becomes of the other weights of that row?")
def attention_diagonal_only(d_out, q, k, v, mask=None):
    weights = weights_of(q, k, mask)
    return gradients(d_out, q, k, v, mask, d_scores=weights * (1 - weights) * (d_out @ turned(v)))


@mistake("softmax_grad_axis", "attention_backward")
@says("The softmax's gradient takes its mean over the queries.")
@hint("Along which axis did softmax make numbers that add up to 1?")
def attention_other_axis(d_out, q, k, v, mask=None):
    weights, d_weights = weights_of(q, k, mask), d_out @ turned(v)
    mean = (weights * d_weights).sum(axis=-2, keepdims=True)
    return gradients(d_out, q, k, v, mask, d_scores=weights * (d_weights - mean))


@mistake("attn_grad_v_not_transposed", "attention_backward")
@says("The gradient of v is weights · d_out: the weights are not transposed.")
@hint("Who sends a gradient to value j: the positions that j reads, or those that read j?")
def attention_v_not_transposed(d_out, q, k, v, mask=None):
    d_q, d_k, _ = gradients(d_out, q, k, v, mask)
    weights = weights_of(q, k, mask)
    size = max(weights.shape[-2:])
    square = np.zeros((*weights.shape[:-2], size, size), weights.dtype)
    square[..., : weights.shape[-2], : weights.shape[-1]] = weights
    tall = np.zeros((*d_out.shape[:-2], size, d_out.shape[-1]), d_out.dtype)
    tall[..., : d_out.shape[-2], :] = d_out
    return d_q, d_k, (square @ tall)[..., : v.shape[-2], :]


@mistake("attn_grad_k_not_transposed", "attention_backward")
@says("The gradient of k is d_scores · q: the scores' gradient is not transposed.")
@hint("Which axis of d_scores counts the keys, and which must be summed over for d_k?")
def attention_k_not_transposed(d_out, q, k, v, mask=None):
    d_q, _, d_v = gradients(d_out, q, k, v, mask)
    d_scores = softmax_backward(d_out @ turned(v), weights_of(q, k, mask)) / np.sqrt(q.shape[-1])
    size = max(d_scores.shape[-2:])
    square = np.zeros((*d_scores.shape[:-2], size, size), d_scores.dtype)
    square[..., : d_scores.shape[-2], : d_scores.shape[-1]] = d_scores
    tall = np.zeros((*q.shape[:-2], size, q.shape[-1]), q.dtype)
    tall[..., : q.shape[-2], :] = q
    return d_q, (square @ tall)[..., : k.shape[-2], :], d_v


@mistake("attn_grad_transposes_batch", "attention_backward")
@says(".T turns all axes round, those of the batch too.")
@hint("Which axes does .T swap in an array of three axes?")
def attention_transposes_all(d_out, q, k, v, mask=None):
    weights = weights_of(q, k, mask)
    d_scores = softmax_backward(d_out @ v.T, weights) / np.sqrt(q.shape[-1])
    return d_scores @ k, d_scores.T @ q, weights.T @ d_out


@mistake("attn_grad_q_and_k_swapped", "attention_backward")
@says("The gradients of q and k are swapped.")
@hint("In which order does the docstring name the results?")
def attention_q_and_k_swapped(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_k, d_q, d_v


@mistake("attn_grad_d_q_from_q", "attention_backward")
@says("The gradient of q is made of the queries, not of the keys.")
@hint("The score is q · k. What is its slope with respect to q?")
def attention_q_from_q(d_out, q, k, v, mask=None):
    _, d_k, d_v = gradients(d_out, q, k, v, mask)
    d_scores = softmax_backward(d_out @ turned(v), weights_of(q, k, mask)) / np.sqrt(q.shape[-1])
    return d_scores.sum(axis=-1, keepdims=True) * q, d_k, d_v


@mistake("attn_grad_v_only", "attention_backward")
@says("The weights are taken for constants: q and k get no gradient.")
@hint("Does the output change if a query changes a little?")
def attention_weights_constant(d_out, q, k, v, mask=None):
    return np.zeros_like(q), np.zeros_like(k), turned(weights_of(q, k, mask)) @ d_out


@mistake("attn_grad_d_v_mean", "attention_backward")
@says("The gradient of v is a mean over the queries, not a sum.")
@hint("Two queries read the same value. Does it matter twice as much, or half?")
def attention_v_mean(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_q, d_k, d_v / q.shape[-2]


# attention_backward: the mask


@mistake("attn_grad_mask_forgotten", "attention_backward")
@says("The mask is not used: the weights are those of attention without one.")
@hint("Follow the argument mask through your function: where does it act?")
def attention_mask_forgotten(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v)


@mistake("attn_grad_mask_on_gradient_only", "attention_backward")
@says("The mask sets gradients to zero, but the weights were made without it.")
@hint("Are the weights of your backward pass those of the forward pass?")
def attention_mask_on_gradient_only(d_out, q, k, v, mask=None):
    weights = weights_of(q, k, None)
    d_scores = softmax_backward(d_out @ turned(v), weights)
    if mask is not None:
        weights, d_scores = weights * mask, d_scores * mask
    return gradients(d_out, q, k, v, mask, weights, d_scores)


@mistake("attn_grad_mask_after_softmax", "attention_backward")
@says("The mask comes after the softmax, when hidden keys have had their share of the sum.")
@hint("What does each row of your weights add up to?")
def attention_mask_after_softmax(d_out, q, k, v, mask=None):
    return masked_after_softmax(d_out, q, k, v, mask)


def masked_after_softmax(d_out, q, k, v, mask):
    """Return gradients with weights that are set to zero where they are hidden."""
    weights = weights_of(q, k, None)
    return gradients(d_out, q, k, v, mask, weights if mask is None else weights * mask)


@mistake("mask_inverted", "attention_backward")
@says("The mask is turned round: what may be attended to is hidden.")
@hint("What does True mean in a mask here?")
def attention_mask_inverted(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v, None if mask is None else ~np.asarray(mask))


@mistake("attn_grad_masked_d_v", "attention_backward")
@says("The gradient of v comes from weights without the mask.")
@hint("Which weights multiplied v on the way forward?")
def attention_v_unmasked(d_out, q, k, v, mask=None):
    d_q, d_k, _ = gradients(d_out, q, k, v, mask)
    return d_q, d_k, turned(weights_of(q, k, None)) @ d_out


@mistake("mask_all_false_ignored", "attention_backward")
@says("A mask that allows nothing at all is taken for no mask.")
@hint("Is None the same as an array in which everything is False?")
def attention_all_false_ignored(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v, mask if np.any(mask) else None)


@mistake("mask_one_row_ignored", "attention_backward")
@says("A mask of one row, without an axis for the queries, is not used.")
@hint("Which shapes can be broadcast to (T_q, T_k)?")
def attention_one_row_ignored(d_out, q, k, v, mask=None):
    return gradients(d_out, q, k, v, mask if np.ndim(mask) > 1 else None)


@mistake("mask_finite_number", "attention_backward")
@says("A query that may attend to nothing gets equal weights, because it is masked by −1e9.")
@hint("What do your weights look like in a row where the mask is False throughout?")
def attention_finite_mask(d_out, q, k, v, mask=None):
    scores = attention_scores(q, k)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    return gradients(d_out, q, k, v, mask, weights)


@mistake("softmax_nan_row", "attention_backward")
@says("A query that may attend to nothing makes NaN: its softmax is 0/0.")
@hint("What is the largest of a row of −∞, and what is −∞ minus that?")
def attention_nan_row(d_out, q, k, v, mask=None):
    scores = attention_scores(q, k)
    scores = scores if mask is None else apply_mask(scores, mask)
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = e / e.sum(axis=-1, keepdims=True)
    return gradients(d_out, q, k, v, mask, weights)


@mistake("attn_grad_small_weights_dropped", "attention_backward")
@says("The exponential of a large score overflows.")
@hint("Which of your earlier functions computes weights from any scores at all?")
def attention_overflows(d_out, q, k, v, mask=None):
    scores = attention_scores(q, k)
    with np.errstate(all="ignore"):
        e = np.exp(scores if mask is None else apply_mask(scores, mask))
        total = e.sum(axis=-1, keepdims=True)
        weights = e / np.where(total > 0, total, 1)
    return gradients(d_out, q, k, v, mask, weights)


@mistake("grad_d_out_clipped", "attention_backward")
@says("d_out is cut off at ±1.")
@hint("If d_out is ten times as large, what becomes of your gradients?")
def attention_d_out_cut(d_out, q, k, v, mask=None):
    return gradients(np.clip(d_out, -1, 1), q, k, v, mask)


@mistake("out_returns_view", "attention_backward")
@says("The gradient of q lives in a buffer that the next call overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def attention_same_buffer(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return in_the_same_array(d_q), d_k, d_v


@mistake("np_input_mutated", "attention_backward")
@says("The caller's q is scaled in place.")
@hint("What does /= do to an array that your function was only lent?")
def attention_scales_q(d_out, q, k, v, mask=None):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    q /= np.sqrt(q.shape[-1])
    return d_q, d_k, d_v


@mistake("np_half_precision", "attention_backward")
@says("The weights of float32 inputs are kept in half precision.")
@hint("In which dtype do you keep the weights, and how many digits does it have?")
def attention_half_weights(d_out, q, k, v, mask=None):
    weights = weights_of(q, k, mask)
    if q.dtype == np.float32:
        weights = weights.astype(np.float16).astype(np.float32)
    return gradients(d_out, q, k, v, mask, weights)


@mistake("mask_soft_penalty", "attention_backward")
@says("A hidden score is lowered by 20, so a hidden key keeps a small weight.")
@hint("What is e to the power of −20, and what should the weight of a hidden key be?")
def attention_soft_mask(d_out, q, k, v, mask=None):
    if mask is None:
        return gradients(d_out, q, k, v)
    weights = softmax(attention_scores(q, k) - 20.0 * ~mask) * mask.any(axis=-1, keepdims=True)
    return gradients(d_out, q, k, v, mask, weights)


@mistake("mask_one_for_all_refused", "attention_backward")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(d_out, q, k, v, mask=None):
    each = mask is not None and q.ndim == mask.ndim > 2
    mask = mask[np.arange(len(q))] if each else mask
    return gradients(d_out, q, k, v, mask)


# masked_self_attention_backward


@mistake("self_grad_not_causal", "masked_self_attention_backward")
@says("The causal mask is missing: a loss reaches later positions.")
@hint("Put a loss on the first position alone. Which rows of your d_x are 0?")
def self_not_causal(d_out, x, w_q, w_k, w_v, padding=None):
    return self_attention_back(d_out, x, w_q, w_k, w_v, padding)


@mistake("self_grad_soft_mask", "masked_self_attention_backward")
@says("The future is masked by a number that is not large enough, so a small leak remains.")
@hint("How large is the weight of a hidden key, and how large should it be?")
def self_soft_mask(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    weights = softmax(np.where(right_mask(x, padding), attention_scores(q, k), -12.0))
    d_parts = gradients(d_out, q, k, v, None, weights)
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (sum(d_x), *d_weights)


@mistake("self_grad_mask_after_softmax", "masked_self_attention_backward")
@says("The mask comes after the softmax, when hidden keys have had their share of the sum.")
@hint("What does each row of your weights add up to?")
def self_mask_after_softmax(d_out, x, w_q, w_k, w_v, padding=None):
    mask = right_mask(x, padding)
    return self_attention_back(d_out, x, w_q, w_k, w_v, mask, masked_after_softmax)


@mistake("self_grad_mask_upside_down", "masked_self_attention_backward")
@says("The triangle is turned round: positions see what comes after them.")
@hint("Which positions may position 0 see?")
def self_anticausal(d_out, x, w_q, w_k, w_v, padding=None):
    mask = causal_mask(x.shape[-2]).T
    return self_attention_back(d_out, x, w_q, w_k, w_v, mask if padding is None else mask & padding)


@mistake("self_grad_mask_strict", "masked_self_attention_backward")
@says("A position does not see itself: the diagonal is missing in the mask.")
@hint("What may the first position attend to?")
def self_strictly_past(d_out, x, w_q, w_k, w_v, padding=None):
    mask = np.tri(x.shape[-2], k=-1, dtype=bool)
    return self_attention_back(d_out, x, w_q, w_k, w_v, mask if padding is None else mask & padding)


@mistake("self_grad_padding_forgotten", "masked_self_attention_backward")
@says("padding is not used: gradients reach padded positions through the keys.")
@hint("Follow the argument padding through your function: where does it act?")
def self_padding_forgotten(d_out, x, w_q, w_k, w_v, padding=None):
    return self_attention_back(d_out, x, w_q, w_k, w_v, causal_mask(x.shape[-2]))


@mistake("self_grad_padding_alone", "masked_self_attention_backward")
@says("With padding the causal mask is dropped: only one of the two holds.")
@hint("How do two masks become one, so that a key must be allowed by both?")
def self_padding_alone(d_out, x, w_q, w_k, w_v, padding=None):
    mask = causal_mask(x.shape[-2]) if padding is None else padding
    return self_attention_back(d_out, x, w_q, w_k, w_v, mask)


@mistake("self_grad_padding_or", "masked_self_attention_backward")
@says("The two masks are joined by `or`: a key is seen if either allows it.")
@hint("How do two masks become one, so that a key must be allowed by both?")
def self_padding_or(d_out, x, w_q, w_k, w_v, padding=None):
    mask = causal_mask(x.shape[-2])
    return self_attention_back(d_out, x, w_q, w_k, w_v, mask if padding is None else mask | padding)


@mistake("self_grad_padded_queries_zeroed", "masked_self_attention_backward")
@says("Padded queries get no gradient, though padding hides keys and never queries.")
@hint("Is the output at a padded position part of the loss, if d_out is not 0 there?")
def self_padded_queries_zeroed(d_out, x, w_q, w_k, w_v, padding=None):
    if padding is not None:
        d_out = d_out * np.swapaxes(padding, -1, -2)
    return self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))


@mistake("self_grad_x_from_values_only", "masked_self_attention_backward")
@says("The gradient of x comes through the values only.")
@hint("How often was x used on the way forward?")
def self_x_from_values(d_out, x, w_q, w_k, w_v, padding=None):
    d_parts = gradients(d_out, *project_qkv(x, w_q, w_k, w_v), right_mask(x, padding))
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (d_x[2], *d_weights)


@mistake("self_grad_x_without_values", "masked_self_attention_backward")
@says("The gradient of x comes through queries and keys only.")
@hint("How often was x used on the way forward?")
def self_x_without_values(d_out, x, w_q, w_k, w_v, padding=None):
    d_parts = gradients(d_out, *project_qkv(x, w_q, w_k, w_v), right_mask(x, padding))
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (d_x[0] + d_x[1], *d_weights)


@mistake("self_grad_x_without_keys", "masked_self_attention_backward")
@says("The gradient of x comes through queries and values only.")
@hint("How often was x used on the way forward?")
def self_x_without_keys(d_out, x, w_q, w_k, w_v, padding=None):
    d_parts = gradients(d_out, *project_qkv(x, w_q, w_k, w_v), right_mask(x, padding))
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (d_x[0] + d_x[2], *d_weights)


@mistake("self_grad_x_without_queries", "masked_self_attention_backward")
@says("The gradient of x comes through keys and values only.")
@hint("How often was x used on the way forward?")
def self_x_without_queries(d_out, x, w_q, w_k, w_v, padding=None):
    d_parts = gradients(d_out, *project_qkv(x, w_q, w_k, w_v), right_mask(x, padding))
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (d_x[1] + d_x[2], *d_weights)


@mistake("self_grad_x_mean", "masked_self_attention_backward")
@says("The three gradients that reach x are averaged, not added up.")
@hint("A value that is used three times has three effects on the loss. What is their sum?")
def self_x_mean(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    return (d_x / 3, *rest)


@mistake("grad_batch_not_summed", "masked_self_attention_backward")
@says("The sum over the batch is missing: there is a gradient of the weights per sequence.")
@hint("Which shape has w_q, and which has your gradient of it for a batch of three?")
def self_batch_not_summed(d_out, x, w_q, w_k, w_v, padding=None):
    d_parts = gradients(d_out, *project_qkv(x, w_q, w_k, w_v), right_mask(x, padding))
    d_x, _ = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (sum(d_x), *(turned(x) @ d for d in d_parts))


@mistake("grad_mean_over_batch", "masked_self_attention_backward")
@says("The gradients of the weights are averaged over the sequences of the batch.")
@hint("Where has the mean been taken already: here, or in the loss?")
def self_batch_mean(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    count = max(1, int(np.prod(x.shape[:-2])))
    return (d_x, *(d / count for d in rest))


@mistake("self_grad_weights_transposed", "masked_self_attention_backward")
@says("The gradients of the weights are transposed.")
@hint("Which shape has w_q, and which has your gradient of it?")
def self_weights_transposed(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    return (d_x, *(d.T for d in rest))


@mistake("self_grad_order", "masked_self_attention_backward")
@says("The gradients of w_q and w_k are swapped.")
@hint("In which order does the docstring name the results?")
def self_order(d_out, x, w_q, w_k, w_v, padding=None):
    mask = right_mask(x, padding)
    d_x, d_w_q, d_w_k, d_w_v = self_attention_back(d_out, x, w_q, w_k, w_v, mask)
    return d_x, d_w_k, d_w_q, d_w_v


@mistake("attn_grad_no_scale", "masked_self_attention_backward")
@says("The gradients that come through the scores lack the division by √d_k.")
@hint("The scores are divided by something on the way forward. What does that do to a slope?")
def self_no_scale(d_out, x, w_q, w_k, w_v, padding=None):
    return self_attention_back(
        d_out, x, w_q, w_k, w_v, right_mask(x, padding), attention_no_scale_inside
    )


def attention_no_scale_inside(d_out, q, k, v, mask):
    d_q, d_k, d_v = gradients(d_out, q, k, v, mask)
    return d_q * np.sqrt(q.shape[-1]), d_k * np.sqrt(q.shape[-1]), d_v


@mistake("self_grad_scale_by_model", "masked_self_attention_backward")
@says("The scores are divided by √d_model, not by √d_k.")
@hint("Whose length is under the root?")
def self_scale_by_model(d_out, x, w_q, w_k, w_v, padding=None):
    factor = np.sqrt(w_q.shape[-1] / x.shape[-1])

    def back(d_out, q, k, v, mask):
        d_q, d_k, d_v = gradients(d_out, q * factor, k, v, mask)
        return d_q * factor, d_k, d_v

    return self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding), back)


@mistake("np_memoised_on_shape", "masked_self_attention_backward")
@says("The weights of the first call are kept for every later x of the same shape.")
@hint("What do the weights depend on besides the shape of x?")
def self_weights_memoised(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    key = ("weights", q.shape, v.shape, padding is None, x.dtype)
    if key not in kept_arrays:
        kept_arrays[key] = weights_of(q, k, right_mask(x, padding))
    d_parts = gradients(d_out, q, k, v, None, kept_arrays[key])
    d_x, d_weights = projected_back(d_parts, x, (w_q, w_k, w_v))
    return (sum(d_x), *d_weights)


@mistake("np_input_mutated", "masked_self_attention_backward")
@says("The three gradients of x are added up in the caller's d_out.")
@hint("What does += do to an array that your function was only lent?")
def self_writes_into_x(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    x += d_x
    return (d_x, *rest)


@mistake("np_squeeze_kills_axis", "masked_self_attention_backward")
@says("Axes of size one disappear from the gradient of x.")
@hint("Try a batch of one sequence, or a sequence of one position: are all axes still there?")
def self_squeezed(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    return (np.squeeze(d_x), *rest)


@mistake("np_hardcoded_rank", "masked_self_attention_backward")
@says("All batch axes of the gradient of x come back as one.")
@hint("What shape has your d_x if x has four axes?")
def self_one_batch_axis(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    return (d_x if x.ndim < 3 else d_x.reshape(-1, *x.shape[-2:]), *rest)


def overflowing(d_out, q, k, v, mask):
    """Return gradients of attention by a softmax that does not subtract the largest score."""
    with np.errstate(all="ignore"):
        e = np.exp(apply_mask(attention_scores(q, k), mask))
        total = e.sum(axis=-1, keepdims=True)
        weights = e / np.where(total > 0, total, 1)
    return gradients(d_out, q, k, v, mask, weights)


@mistake("softmax_no_max", "masked_self_attention_backward")
@says("The exponential of a large score overflows.")
@hint("Which of your earlier functions computes weights from any scores at all?")
def self_overflows(d_out, x, w_q, w_k, w_v, padding=None):
    return self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding), overflowing)


@mistake("np_half_precision", "masked_self_attention_backward")
@says("The gradient of float32 numbers is kept in half precision.")
@hint("In which dtype do you keep the gradient of x, and how many digits does it have?")
def self_in_half(d_out, x, w_q, w_k, w_v, padding=None):
    d_x, *rest = self_attention_back(d_out, x, w_q, w_k, w_v, right_mask(x, padding))
    if x.dtype == np.float32:
        d_x = d_x.astype(np.float16).astype(np.float32)
    return (d_x, *rest)


@mistake("attn_grad_partly_hidden_dropped", "attention_backward")
@says("A query from which any key is hidden is treated as one that may attend to nothing.")
@hint("Which rows of a mask are empty: those with one False, or those with nothing else?")
def attn_grad_partly_hidden_dropped(d_out, q, k, v, mask=None):
    if mask is not None:
        whole = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])).all(axis=-1, keepdims=True)
        mask = mask & whole
    scores = attention_scores(q, k)
    weights = softmax(scores if mask is None else apply_mask(scores, mask))
    d_weights = d_out @ np.swapaxes(v, -1, -2)
    d_scores = softmax_backward(d_weights, weights) / q.shape[-1] ** 0.5
    d_v = np.swapaxes(weights, -1, -2) @ d_out
    return d_scores @ k, np.swapaxes(d_scores, -1, -2) @ q, d_v
