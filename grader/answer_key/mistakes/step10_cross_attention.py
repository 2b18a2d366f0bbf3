"""Known wrong versions of step 10, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from grader.answer_key.variants import hint, mistake, says

kept_inputs = {}
kept_outputs = {}
kept_memories = {}


def heads_of(name, x, params, n_heads):
    return split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads)


def asked(x, memory, params, n_heads):
    """Return q of x, and k and v of the memory."""
    k, v = (heads_of(name, memory, params, n_heads) for name in "kv")
    return heads_of("q", x, params, n_heads), k, v


def spread(mask):
    """Give a head axis to masks that have batch axes."""
    return np.expand_dims(mask, -3) if mask is not None and np.ndim(mask) > 2 else mask


def masked_scores(q, k, mask):
    scores = attention_scores(q, k)
    return scores if mask is None else apply_mask(scores, spread(mask))


def mixed(heads, params):
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


def right(x, memory, params, n_heads, mask):
    return mixed(attention(*asked(x, memory, params, n_heads), spread(mask)), params)


def divided_by_total(exponentials):
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def started(tokens, start_id):
    """Return the right result of shift_right."""
    return np.concatenate([np.full_like(tokens[..., :1], start_id), tokens[..., :-1]], axis=-1)


# shift_right: what the decoder reads


@mistake("loss_decoder_input_is_target", "shift_right")
@says("The tokens are not shifted, so the decoder reads the token that it should predict.")
@hint("At position t, has the decoder been shown the answer already?")
def loss_decoder_input_is_target(tokens, start_id):
    return tokens.copy()


@mistake("shift_keeps_last", "shift_right")
@says("The start token is put in front, but the last token is not dropped.")
@hint("What would the decoder predict after the last token, and is there a target for it?")
def shift_keeps_last(tokens, start_id):
    return np.concatenate([np.full_like(tokens[..., :1], start_id), tokens], axis=-1)


@mistake("shift_replaces_first", "shift_right")
@says("The first token is replaced by the start token, and nothing moves.")
@hint("Where is the first token in the decoder's input?")
def shift_replaces_first(tokens, start_id):
    shifted = tokens.copy()
    shifted[..., 0] = start_id
    return shifted


@mistake("shift_left", "shift_right")
@says("The tokens move to the left, with the start token at the end.")
@hint("Which token is at position 1 of the result, and which should?")
def shift_left(tokens, start_id):
    return np.concatenate([tokens[..., 1:], np.full_like(tokens[..., :1], start_id)], axis=-1)


@mistake("shift_overwrites", "shift_right")
@says("Each place is copied from one that was overwritten before, so token 0 fills the text.")
@hint("In which order do you copy the tokens: what is at place 1 when place 2 is copied?")
def shift_overwrites(tokens, start_id):
    shifted = np.repeat(tokens[..., :1], tokens.shape[-1], axis=-1)
    shifted[..., 0] = start_id
    return shifted


@mistake("shift_rolls", "shift_right")
@says("The last token comes round to the front, where the start token should be.")
@hint("What does position 0 show: the beginning of the text, or its end?")
def shift_rolls(tokens, start_id):
    return np.roll(tokens, 1, axis=-1)


@mistake("shift_start_is_zero", "shift_right")
@says("The text starts with 0, not with start_id.")
@hint("Is 0 a token like any other in this course?")
def shift_start_is_zero(tokens, start_id):
    return started(tokens, 0)


@mistake("loss_double_shift", "shift_right")
@says("The tokens are shifted by two places.")
@hint("How many places does a token move?")
def loss_double_shift(tokens, start_id):
    return started(started(tokens, start_id), start_id)


@mistake("loss_zero_decoder_input", "shift_right")
@says("Every position is the start token.")
@hint("What is the decoder given of the text so far?")
def loss_zero_decoder_input(tokens, start_id):
    return np.full_like(tokens, start_id)


@mistake("shift_only_if_needed", "shift_right")
@says("A text that starts with the start token already is left as it is.")
@hint("Does the docstring make an exception for any text?")
def shift_only_if_needed(tokens, start_id):
    return np.where(tokens[..., :1] == start_id, tokens, started(tokens, start_id))


@mistake("shift_without_start", "shift_right")
@says("The last token is dropped, and no start token is put in front.")
@hint("How long is the result, and what does the decoder read before the first token?")
def shift_without_start(tokens, start_id):
    return tokens[..., :-1].copy()


@mistake("shift_floats", "shift_right")
@says("The result holds floats.")
@hint("What dtype does an array have that is made by np.zeros, or np.empty?")
def shift_floats(tokens, start_id):
    shifted = np.zeros(tokens.shape)
    shifted[..., 0], shifted[..., 1:] = start_id, tokens[..., :-1]
    return shifted


@mistake("loss_flat_shift_across_rows", "shift_right")
@says("The batch is shifted as one long text, so a text starts with the end of another.")
@hint("With what does the second text of a batch start?")
def loss_flat_shift_across_rows(tokens, start_id):
    return started(tokens.reshape(-1), start_id).reshape(tokens.shape)


@mistake("shift_along_batch", "shift_right")
@says("The first axis is shifted, which in a batch counts the texts.")
@hint("Which axis is time in a batch of texts?")
def shift_along_batch(tokens, start_id):
    return np.concatenate([np.full_like(tokens[:1], start_id), tokens[:-1]])


@mistake("np_swapped_args_transpose", "shift_right")
@says("Time is taken to be axis 1 of a batch, which it is with one batch axis only.")
@hint("What is the number of the last axis, counted from the end?")
def np_swapped_args_transpose_shift(tokens, start_id):
    shifted = np.roll(tokens, 1, axis=min(1, tokens.ndim - 1))
    shifted[(slice(None),) * min(1, tokens.ndim - 1) + (0,)] = start_id
    return shifted


@mistake("np_squeeze_kills_axis", "shift_right")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis_shift(tokens, start_id):
    return np.squeeze(started(tokens, start_id))


@mistake("np_int64_only", "shift_right")
@says("The tokens are read as 64-bit integers, whatever their type.")
@hint("How many bytes does one token of an np.int32 array have?")
def np_int64_only(tokens, start_id):
    return started(np.frombuffer(tokens.tobytes(), np.int64).reshape(tokens.shape), start_id)


@mistake("out_returns_view", "shift_right")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_shift(tokens, start_id):
    buffer = kept_inputs.setdefault((tokens.shape, tokens.dtype), np.empty_like(tokens))
    buffer[...] = started(tokens, start_id)
    return buffer


@mistake("np_input_mutated", "shift_right")
@says("The tokens are shifted inside the caller's array, which loses its last token.")
@hint("The tokens are needed once more, as targets: are they still what they were?")
def np_input_mutated_shift(tokens, start_id):
    tokens[..., 1:] = tokens[..., :-1].copy()
    tokens[..., 0] = start_id
    return tokens.copy()


@mistake("np_reads_only_flag_error", "shift_right")
@says("The memory of the tokens is read as it lies, which fails unless it is contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error_shift(tokens, start_id):
    return started(np.frombuffer(tokens, tokens.dtype).reshape(tokens.shape), start_id)


# cross_attention: who asks, who answers


@mistake("cross_q_from_memory", "cross_attention")
@says("The memory asks and x answers.")
@hint("Who asks, and who answers? How many answers does each of them need?")
def cross_q_from_memory(x, memory, params, n_heads, memory_mask=None):
    mask = None if memory_mask is None else np.swapaxes(np.atleast_2d(memory_mask), -1, -2)
    return right(memory, x, params, n_heads, mask)


@mistake("cross_q_from_memory", "cross_attention")
@says("The memory asks and x answers, under a mask that is made for the reverse.")
@hint("Who asks, and who answers? How many answers does each of them need?")
def cross_q_from_memory_same_mask(x, memory, params, n_heads, memory_mask=None):
    return right(memory, x, params, n_heads, memory_mask)


@mistake("cross_ignores_memory", "cross_attention")
@says("Keys and values come from x, so the memory is not read.")
@hint("Does the output change when the memory does?")
def cross_ignores_memory(x, memory, params, n_heads, memory_mask=None):
    return right(x, x, params, n_heads, memory_mask)


@mistake("cross_ignores_memory", "cross_attention")
@says("x attends to itself: neither the memory nor its mask is read.")
@hint("Which of your arguments does your code never read?")
def cross_ignores_memory_and_mask(x, memory, params, n_heads, memory_mask=None):
    return right(x, x, params, n_heads, None)


@mistake("cross_reads_memory_only", "cross_attention")
@says("Queries come from the memory too, so x is not read.")
@hint("Does the output change when x does?")
def cross_reads_memory_only(x, memory, params, n_heads, memory_mask=None):
    return right(memory, memory, params, n_heads, memory_mask)


@mistake("cross_k_and_v_from_different_streams", "cross_attention")
@says("Keys come from the memory, values from x.")
@hint("Do keys and values describe the same tokens?")
def cross_values_from_x(x, memory, params, n_heads, memory_mask=None):
    q, k, _ = asked(x, memory, params, n_heads)
    return mixed(attention(q, k, heads_of("v", x, params, n_heads), spread(memory_mask)), params)


@mistake("cross_k_and_v_from_different_streams", "cross_attention")
@says("Keys come from x, values from the memory.")
@hint("Do keys and values describe the same tokens?")
def cross_keys_from_x(x, memory, params, n_heads, memory_mask=None):
    q, _, v = asked(x, memory, params, n_heads)
    return mixed(attention(q, heads_of("k", x, params, n_heads), v, spread(memory_mask)), params)


@mistake("cross_attends_to_both", "cross_attention")
@says("x is appended to the memory, so a position also attends to x.")
@hint("How many keys does one query meet: S, or S + T?")
def cross_attends_to_both(x, memory, params, n_heads, memory_mask=None):
    both = np.concatenate([memory, x], axis=-2)
    if memory_mask is not None:
        (*batch, s, _), t = memory.shape, x.shape[-2]
        mask = np.broadcast_to(memory_mask, (*batch, t, s))
        memory_mask = np.concatenate([mask, np.ones((*batch, t, t), bool)], axis=-1)
    return right(x, both, params, n_heads, memory_mask)


@mistake("cross_residual", "cross_attention")
@says("x is added to the result.")
@hint("Is adding to the residual stream part of this function's job?")
def cross_residual(x, memory, params, n_heads, memory_mask=None):
    return x + right(x, memory, params, n_heads, memory_mask)


@mistake("cross_residual_from_memory", "cross_attention")
@says("The memory is added to the result.")
@hint("Does this function add to a residual stream, and which of the two would that be?")
def cross_residual_from_memory(x, memory, params, n_heads, memory_mask=None):
    return memory + right(x, memory, params, n_heads, memory_mask)


@mistake("out_assumes_square", "cross_attention")
@says("Only as many places of the memory are read as x has positions.")
@hint("Count positions and places of the memory apart: does every place have its turn?")
def out_assumes_square(x, memory, params, n_heads, memory_mask=None):
    t = x.shape[-2]
    mask = None if memory_mask is None else memory_mask[..., :t]
    return right(x, memory[..., :t, :], params, n_heads, mask)


# cross_attention: masks


@mistake("cross_causal_mask_applied", "cross_attention")
@says("There is a causal mask: position t sees places 0..t of the memory only.")
@hint("Is the sentence that is translated something one may not peek at?")
def cross_causal_mask_applied(x, memory, params, n_heads, memory_mask=None):
    mask = np.tri(x.shape[-2], memory.shape[-2], dtype=bool)
    mask = mask if memory_mask is None else mask & memory_mask
    return right(x, memory, params, n_heads, mask)


@mistake("cross_causal_mask_applied", "cross_attention")
@says("There is a causal mask, as if x were the last positions of the memory.")
@hint("Is the sentence that is translated something one may not peek at?")
def cross_causal_bottom_right(x, memory, params, n_heads, memory_mask=None):
    mask = causal_mask(x.shape[-2], memory.shape[-2])
    mask = mask if memory_mask is None else mask & memory_mask
    return right(x, memory, params, n_heads, mask)


@mistake("cross_causal_if_square", "cross_attention")
@says("Where memory and x are of one length, there is a causal mask.")
@hint("Does it matter for what may be seen whether two texts happen to be of one length?")
def cross_causal_if_square(x, memory, params, n_heads, memory_mask=None):
    mask = memory_mask
    if x.shape[-2] == memory.shape[-2]:
        mask = causal_mask(x.shape[-2]) if mask is None else mask & causal_mask(x.shape[-2])
    return right(x, memory, params, n_heads, mask)


@mistake("cross_mask_missing", "cross_attention")
@says("memory_mask is not used, so padding is attended to.")
@hint("Change the padded part of the memory: what should happen to the result?")
def cross_mask_missing(x, memory, params, n_heads, memory_mask=None):
    return right(x, memory, params, n_heads, None)


@mistake("cross_wrong_padding_mask", "cross_attention")
@says("The mask is transposed: what it says of places of the memory is applied to queries.")
@hint("Whose padding decides which places of the memory are real?")
def cross_wrong_padding_mask(x, memory, params, n_heads, memory_mask=None):
    mask = None if memory_mask is None else np.swapaxes(np.atleast_2d(memory_mask), -1, -2)
    return right(x, memory, params, n_heads, mask)


@mistake("mask_taken_for_padding", "cross_attention")
@says("A matrix with as many rows as there are texts is taken for one row of padding per text.")
@hint("With 3 texts and 3 queries, what does a mask of 3 rows mean to your code?")
def mask_taken_for_padding(x, memory, params, n_heads, memory_mask=None):
    mask = memory_mask
    if mask is not None and memory.ndim == 3 and mask.shape == memory.shape[:2]:
        mask = mask[:, None]
    return right(x, memory, params, n_heads, mask)


@mistake("mask_inverted", "cross_attention")
@says("The mask is read the wrong way round: True forbids.")
@hint("What does True mean in a mask of this course?")
def mask_inverted(x, memory, params, n_heads, memory_mask=None):
    return right(x, memory, params, n_heads, None if memory_mask is None else ~memory_mask)


@mistake("mask_first_head_only", "cross_attention")
@says("The mask holds for head 0 only.")
@hint("Does every head keep to the rule?")
def mask_first_head_only(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    heads = attention(q, k, v)
    first = (array[..., 0, :, :] for array in (q, k, v))
    heads[..., 0, :, :] = attention(*first, memory_mask)
    return mixed(heads, params)


@mistake("pad_batch_broadcast_as_head", "cross_attention")
@says("The mask gets no head axis, so its batch axis lands on the heads.")
@hint("Write the mask's axes under those of the scores, from the right: what does each meet?")
def pad_batch_broadcast_as_head(x, memory, params, n_heads, memory_mask=None):
    return mixed(attention(*asked(x, memory, params, n_heads), memory_mask), params)


@mistake("mask_head_axis_always_at_one", "cross_attention")
@says("The head axis of the mask is put in place 1, whatever axes the mask has.")
@hint("Counted from the right, where is the head axis of the scores? And with no batch axis?")
def mask_head_axis_always_at_one(x, memory, params, n_heads, memory_mask=None):
    mask = None if memory_mask is None else memory_mask[:, None]
    return mixed(attention(*asked(x, memory, params, n_heads), mask), params)


@mistake("mask_matrix_only", "cross_attention")
@says("A mask with one axis, which holds for every query, is not taken.")
@hint("Which shapes can be broadcast to (T, S)? Try each of them.")
def mask_matrix_only(x, memory, params, n_heads, memory_mask=None):
    mask = None if memory_mask is None else np.expand_dims(memory_mask, -3)
    return mixed(attention(*asked(x, memory, params, n_heads), mask), params)


@mistake("pad_tile_wrong_order", "cross_attention")
@says("Batch and heads are flattened, and the masks are repeated in another order than they.")
@hint("After flattening batch and heads, which comes first: the next head or the next text?")
def pad_tile_wrong_order(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    if memory_mask is None:
        return mixed(attention(q, k, v), params)
    (*batch, t, _), s = x.shape, memory.shape[-2]
    flat = np.broadcast_to(memory_mask, (*batch, t, s)).reshape(-1, t, s)
    tiled = np.tile(flat, (n_heads, 1, 1)).reshape(*batch, n_heads, t, s)
    return mixed(attention(q, k, v, tiled), params)


@mistake("mask_first_text_for_all", "cross_attention")
@says("The mask of the first text is used for all texts of the batch.")
@hint("Give two texts of a batch different masks: whose does the second one get?")
def mask_first_text_for_all(x, memory, params, n_heads, memory_mask=None):
    mask = memory_mask
    while mask is not None and np.ndim(mask) > 2:
        mask = mask[0]
    return right(x, memory, params, n_heads, mask)


@mistake("mask_first_row_for_all", "cross_attention")
@says("The first row of the mask is used for every query.")
@hint("May two queries see different places? What does the shape (T, S) allow?")
def mask_first_row_for_all(x, memory, params, n_heads, memory_mask=None):
    mask = None if memory_mask is None else np.atleast_2d(memory_mask)[..., :1, :]
    return right(x, memory, params, n_heads, mask)


@mistake("mask_zeroes_memory", "cross_attention")
@says("Hidden places of the memory are set to 0, which has a score like any other.")
@hint("What is the score of a key that is all zeros, or a bias, and what is its exponential?")
def mask_zeroes_memory(x, memory, params, n_heads, memory_mask=None):
    if memory_mask is None:
        return right(x, memory, params, n_heads, None)
    real = np.broadcast_to(memory_mask, (*x.shape[:-1], memory.shape[-2])).any(axis=-2)
    return right(x, memory * real[..., None], params, n_heads, None)


@mistake("mask_batch_axes_assumed", "cross_attention")
@says("The mask is taken to have the batch axes of x, so its head axis comes at a wrong place.")
@hint("Counted from the end, which axis of the scores is the one of the heads?")
def mask_batch_axes_assumed(x, memory, params, n_heads, memory_mask=None):
    if memory_mask is not None and np.ndim(memory_mask) > 1:
        memory_mask = np.expand_dims(memory_mask, x.ndim - 2)
    return mixed(attention(*asked(x, memory, params, n_heads), memory_mask), params)


@mistake("mask_of_all_axes_only", "cross_attention")
@says("Only a mask with as many axes as x gets an axis for the heads.")
@hint("Which axis of a mask is the one of the heads if it has fewer batch axes than x?")
def mask_of_all_axes_only(x, memory, params, n_heads, memory_mask=None):
    if memory_mask is not None and np.ndim(memory_mask) == x.ndim:
        memory_mask = np.expand_dims(memory_mask, -3)
    return mixed(attention(*asked(x, memory, params, n_heads), memory_mask), params)


@mistake("mask_after_softmax", "cross_attention")
@says("The mask comes after the softmax, when hidden places have had their share of the sum.")
@hint("Do the weights of a masked row still add up to one?")
def mask_after_softmax(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    weights = softmax(attention_scores(q, k))
    return mixed((weights if memory_mask is None else weights * spread(memory_mask)) @ v, params)


@mistake("mask_fill_minus_1e4", "cross_attention")
@says("Hidden scores become −10,000, which allowed scores may reach.")
@hint("How negative is negative enough for every score that may come?")
def mask_fill_minus_1e4(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    if memory_mask is None:
        return mixed(attention(q, k, v), params)
    mask = spread(np.atleast_2d(memory_mask))
    weights = softmax(np.where(mask, attention_scores(q, k), -1e4))
    return mixed(np.where(mask.any(axis=-1, keepdims=True), weights, 0.0) @ v, params)


@mistake("blocked_uniform", "cross_attention")
@says("A query that may attend to nothing gets the average of all values.")
@hint("If every score of a row is equally low, what does the softmax make of it?")
def blocked_uniform(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    scores = attention_scores(q, k)
    if memory_mask is not None:
        scores = np.where(spread(memory_mask), scores, -1e30)
    return mixed(softmax(scores) @ v, params)


@mistake("blocked_nan", "cross_attention")
@says("A query that may attend to nothing gets NaN.")
@hint("What is −∞ minus −∞, and where does your softmax compute it?")
def blocked_nan(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    scores = masked_scores(q, k, memory_mask)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return mixed(weights / weights.sum(axis=-1, keepdims=True) @ v, params)


@mistake("np_nan_to_num_mask", "cross_attention")
@says("The row of a query that may attend to nothing is 0 throughout, without b_o.")
@hint("At which point is the 0 of such a query: before the output projection, or after it?")
def blocked_without_bias(x, memory, params, n_heads, memory_mask=None):
    output = right(x, memory, params, n_heads, memory_mask)
    if memory_mask is None:
        return output
    return np.where(np.any(np.atleast_2d(memory_mask), axis=-1, keepdims=True), output, 0.0)


# cross_attention: projections and heads


@mistake("proj_bias_dropped", "cross_attention")
@says("Queries, keys and values are projected without their biases.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_dropped(x, memory, params, n_heads, memory_mask=None):
    none = dict.fromkeys(("b_q", "b_k", "b_v"), np.zeros(x.shape[-1]))
    heads = attention(*asked(x, memory, params | none, n_heads), spread(memory_mask))
    return mixed(heads, params)


@mistake("proj_bias_dropped", "cross_attention")
@says("The queries are projected without their bias, b_q.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_of_q_dropped(x, memory, params, n_heads, memory_mask=None):
    without = params | {"b_q": np.zeros_like(params["b_q"])}
    return right(x, memory, without, n_heads, memory_mask)


@mistake("proj_bias_dropped", "cross_attention")
@says("The values are projected without their bias, b_v.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_of_v_dropped(x, memory, params, n_heads, memory_mask=None):
    without = params | {"b_v": np.zeros_like(params["b_v"])}
    return right(x, memory, without, n_heads, memory_mask)


@mistake("proj_kv_swapped", "cross_attention")
@says("Keys and values are exchanged.")
@hint("Which of the three projections is compared with the queries?")
def proj_kv_swapped(x, memory, params, n_heads, memory_mask=None):
    q, v, k = asked(x, memory, params, n_heads)
    return mixed(attention(q, k, v, spread(memory_mask)), params)


@mistake("proj_qk_swapped", "cross_attention")
@says("The weights of queries and keys are exchanged: x is projected by w_k, the memory by w_q.")
@hint("Which weight belongs to what asks?")
def proj_qk_swapped(x, memory, params, n_heads, memory_mask=None):
    q, k = heads_of("k", x, params, n_heads), heads_of("q", memory, params, n_heads)
    v = heads_of("v", memory, params, n_heads)
    return mixed(attention(q, k, v, spread(memory_mask)), params)


@mistake("proj_value_not_projected", "cross_attention")
@says("The memory itself is used as values.")
@hint("Each of the three streams passes through a matrix of its own: which one does not?")
def proj_value_not_projected(x, memory, params, n_heads, memory_mask=None):
    q, k, _ = asked(x, memory, params, n_heads)
    return mixed(attention(q, k, split_heads(memory, n_heads), spread(memory_mask)), params)


@mistake("proj_keys_not_projected", "cross_attention")
@says("The memory itself is used as keys and values.")
@hint("Is the memory ready to be used as keys, or is it what keys are made of?")
def proj_memory_not_projected(x, memory, params, n_heads, memory_mask=None):
    q, _, _ = asked(x, memory, params, n_heads)
    k = v = split_heads(memory, n_heads)
    return mixed(attention(q, k, v, spread(memory_mask)), params)


@mistake("head_reshape_no_transpose", "cross_attention")
@says("The reshape goes straight to (n_heads, T, d_head), so a head gets some positions, whole.")
@hint("After your reshape, does head 0 still hold something of every token?")
def head_reshape_no_transpose(x, memory, params, n_heads, memory_mask=None):
    def straight(name, array):
        array = linear(array, params[f"w_{name}"], params[f"b_{name}"])
        *batch, t, d_model = array.shape
        return array.reshape(*batch, n_heads, t, d_model // n_heads)

    q, k, v = straight("q", x), straight("k", memory), straight("v", memory)
    return mixed(attention(q, k, v, spread(memory_mask)), params)


@mistake("merge_no_transpose", "cross_attention")
@says("The heads are merged as they lie, so one row gets different positions of one head.")
@hint("For token 0, list where each of its output numbers came from.")
def merge_no_transpose(x, memory, params, n_heads, memory_mask=None):
    heads = attention(*asked(x, memory, params, n_heads), spread(memory_mask))
    return linear(heads.reshape(x.shape), params["w_o"], params["b_o"])


@mistake("head_count_ignored", "cross_attention")
@says("n_heads is not used: one head attends with all features.")
@hint("What in your result would change if n_heads did?")
def head_count_ignored(x, memory, params, n_heads, memory_mask=None):
    return right(x, memory, params, 1, memory_mask)


@mistake("score_scale_sqrt_dmodel", "cross_attention")
@says("The scores are divided by √d_model, not by √d_head.")
@hint("How long are the vectors whose dot product is a score of one head?")
def score_scale_sqrt_dmodel(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    return mixed(attention(q / np.sqrt(n_heads), k, v, spread(memory_mask)), params)


@mistake("score_no_scale", "cross_attention")
@says("The scores of the heads are not scaled.")
@hint("What happens to the size of a dot product as the vectors get longer?")
def score_no_scale(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    return mixed(attention(q * np.sqrt(q.shape[-1]), k, v, spread(memory_mask)), params)


@mistake("softmax_query_axis", "cross_attention")
@says("The softmax runs over the queries instead of the places of the memory.")
@hint("Which axis of the weights should add up to one?")
def softmax_query_axis(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    return mixed(softmax(masked_scores(q, k, memory_mask), axis=-2) @ v, params)


@mistake("wo_missing", "cross_attention")
@says("The heads are put side by side, but not mixed by w_o and b_o.")
@hint("Is the concatenation the last operation?")
def wo_missing(x, memory, params, n_heads, memory_mask=None):
    return merge_heads(attention(*asked(x, memory, params, n_heads), spread(memory_mask)))


@mistake("wo_transposed_or_no_bias", "cross_attention")
@says("b_o is not added.")
@hint("Does your function read every parameter that it is given?")
def wo_no_bias(x, memory, params, n_heads, memory_mask=None):
    return right(x, memory, params, n_heads, memory_mask) - params["b_o"]


@mistake("wo_transposed_or_no_bias", "cross_attention")
@says("w_o is transposed before it is used.")
@hint("What are the two axes of w_o, and which of them meets the heads' features?")
def wo_transposed(x, memory, params, n_heads, memory_mask=None):
    transposed = params | {"w_o": params["w_o"].T}
    return right(x, memory, transposed, n_heads, memory_mask)


# cross_attention: length, batch, sizes, numbers


@mistake("score_scale_seq_len", "cross_attention")
@says("The scores are scaled by the number of positions of x.")
@hint("Should a position get another answer because more positions ask?")
def score_scale_seq_len(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    scaled = q * np.sqrt(q.shape[-1] / q.shape[-2])
    return mixed(attention(scaled, k, v, spread(memory_mask)), params)


@mistake("out_one_value_for_all_rows", "cross_attention")
@says("Every text of a batch attends to the memory of the first one.")
@hint("Put two different memories in one batch: which one does the second text read?")
def out_one_value_for_all_rows(x, memory, params, n_heads, memory_mask=None):
    first = memory.reshape(-1, *memory.shape[-2:])[0]
    return right(x, np.broadcast_to(first, memory.shape), params, n_heads, memory_mask)


@mistake("cross_one_memory_for_batch", "cross_attention")
@says("The memories of a batch are averaged.")
@hint("Put two different memories in one batch: which one does the second text read?")
def cross_memories_averaged(x, memory, params, n_heads, memory_mask=None):
    mean = memory.reshape(-1, *memory.shape[-2:]).mean(axis=0)
    return right(x, np.broadcast_to(mean, memory.shape), params, n_heads, memory_mask)


@mistake("np_swapped_args_transpose", "cross_attention")
@says("Axes are swapped by fixed numbers, which fit no batch axis or one, and no more.")
@hint("What is the number of the head axis with two batch axes, counted from the end?")
def np_swapped_args_transpose(x, memory, params, n_heads, memory_mask=None):
    order = (1, 0, 2) if x.ndim == 2 else (0, 2, 1, 3)

    def heads(name, array):
        array = linear(array, params[f"w_{name}"], params[f"b_{name}"])
        return array.reshape(*array.shape[:-1], n_heads, -1).transpose(order)

    found = attention(heads("q", x), heads("k", memory), heads("v", memory), spread(memory_mask))
    return linear(found.transpose(order).reshape(x.shape), params["w_o"], params["b_o"])


@mistake("np_squeeze_kills_axis", "cross_attention")
@says("Axes of size one disappear from the result.")
@hint("Try one position, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis(x, memory, params, n_heads, memory_mask=None):
    return np.squeeze(right(x, memory, params, n_heads, memory_mask))


@mistake("softmax_no_max", "cross_attention")
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max(x, memory, params, n_heads, memory_mask=None):
    q, k, v = asked(x, memory, params, n_heads)
    return mixed(divided_by_total(np.exp(masked_scores(q, k, memory_mask))) @ v, params)


@mistake("np_half_precision", "cross_attention")
@says("The heads' outputs for float32 inputs are stored in half precision.")
@hint("In which dtype are the outputs kept, and how many digits does it have?")
def np_half_precision(x, memory, params, n_heads, memory_mask=None):
    heads = attention(*asked(x, memory, params, n_heads), spread(memory_mask))
    if x.dtype == np.float32:
        heads = heads.astype(np.float16).astype(np.float32)
    return mixed(heads, params)


@mistake("np_float32_downcast", "cross_attention")
@says("The memory is rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast(x, memory, params, n_heads, memory_mask=None):
    return right(x, memory.astype(np.float32), params, n_heads, memory_mask)


@mistake("out_returns_view", "cross_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view(x, memory, params, n_heads, memory_mask=None):
    result = right(x, memory, params, n_heads, memory_mask)
    buffer = kept_outputs.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("np_memoised_on_shape", "cross_attention")
@says("The first memory of a shape is kept and used again for every later one.")
@hint("Does the second sentence get its own memory, or that of the first?")
def np_memoised_on_shape(x, memory, params, n_heads, memory_mask=None):
    kept = kept_memories.setdefault(memory.shape, memory.copy())
    return right(x, kept, params, n_heads, memory_mask)


@mistake("np_input_mutated", "cross_attention")
@says("The projected queries are written into x.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated(x, memory, params, n_heads, memory_mask=None):
    output = right(x, memory, params, n_heads, memory_mask)
    x[...] = linear(x, params["w_q"], params["b_q"])
    return output


@mistake("np_input_mutated", "cross_attention")
@says("Hidden places of the memory are overwritten with zeros.")
@hint("The memory is read again at the next layer: is it still what it was?")
def np_input_mutated_memory(x, memory, params, n_heads, memory_mask=None):
    output = right(x, memory, params, n_heads, memory_mask)
    if memory_mask is not None:
        real = np.broadcast_to(memory_mask, (*x.shape[:-1], memory.shape[-2])).any(axis=-2)
        memory[~real] = 0.0
    return output


@mistake("np_reads_only_flag_error", "cross_attention")
@says("The bytes of the memory are read as they lie, which fails unless they are contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error(x, memory, params, n_heads, memory_mask=None):
    copied = np.frombuffer(memory, dtype=memory.dtype).reshape(memory.shape)
    return right(x, copied, params, n_heads, memory_mask)


@mistake("mask_one_for_all_refused", "cross_attention")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(x, memory, params, n_heads, memory_mask=None):
    each = memory_mask is not None and x.ndim == memory_mask.ndim > 2
    memory_mask = memory_mask[np.arange(len(x))] if each else memory_mask
    return right(x, memory, params, n_heads, memory_mask)


@mistake("shift_by_two", "shift_right")
@says("The tokens move by two positions.")
@hint("Which token stands at position 1 of the decoder input?")
def shift_by_two(tokens, start_id):
    moved = np.roll(tokens, 2, axis=-1)
    moved[..., 0] = start_id
    return moved


@mistake("cross_causal_mask", "cross_attention")
@says("A causal mask hides memory, and fails where the memory is shorter than x.")
@hint("Which places of the memory may position 0 of x read?")
def cross_causal_mask(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    mask = causal_mask(x.shape[-2], memory.shape[-2])
    if memory_mask is not None:
        mask = np.expand_dims(mask & memory_mask, -3)
    return linear(merge_heads(attention(q, k, v, mask)), params["w_o"], params["b_o"])


@mistake("cross_causal_mask_instead", "cross_attention")
@says("A causal mask takes the place of memory_mask, and fails on a memory shorter than x.")
@hint("Which places of the memory may position 0 of x read?")
def cross_causal_mask_instead(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    heads = attention(q, k, v, causal_mask(x.shape[-2], memory.shape[-2]))
    return linear(merge_heads(heads), params["w_o"], params["b_o"])
