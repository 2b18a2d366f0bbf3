"""Known wrong versions of step 2, each with one mistake."""

import numpy as np

from grader.answer_key.variants import hint, mistake, says

scores_before = {}
score_buffers = {}
asked_keys = []
first_scale = []


def scaled_scores(q, k):
    """Return the right scores, for variants that go wrong before or after them."""
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5


# the scale


@mistake("score_no_scale", "attention_scores")
@says("The scores are not divided by √d_k.")
@hint("What happens to the size of a dot product as the vectors get longer?")
def score_no_scale(q, k):
    return q @ np.swapaxes(k, -1, -2)


@mistake("score_scale_dk_not_sqrt", "attention_scores")
@says("The scores are divided by d_k: no root, or the root twice.")
@hint("You make the scores smaller: by as much as the variance argument asks for?")
def score_scale_dk_not_sqrt(q, k):
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1]


@mistake("score_scale_multiplied", "attention_scores")
@says("The scores are multiplied by √d_k instead of divided by it.")
@hint("Does your factor make the scores larger or smaller?")
def score_scale_multiplied(q, k):
    return q @ np.swapaxes(k, -1, -2) * np.sqrt(q.shape[-1])


@mistake("score_scaled_twice", "attention_scores")
@says("Queries and keys are both divided by √d_k, so the scores are scaled twice.")
@hint("How many times does the scale occur on the way from q and k to the scores?")
def score_scaled_twice(q, k):
    root = np.sqrt(q.shape[-1])
    return (q / root) @ np.swapaxes(k / root, -1, -2)


@mistake("score_scale_precedence", "attention_scores")
@says("An exponent written as 1 / 2 without brackets divides by d_k and then by 2.")
@hint("Which comes first in Python, a power or a division?")
def score_scale_precedence(q, k):
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 1 / 2


@mistake("score_scale_half_dk", "attention_scores")
@says("The scores are divided by half of d_k, which is its root only at d_k = 4.")
@hint("Try a second value of d_k by hand.")
def score_scale_half_dk(q, k):
    return q @ np.swapaxes(k, -1, -2) / (q.shape[-1] * 0.5)


@mistake("score_scale_whole_root", "attention_scores")
@says("The root of d_k is cut down to a whole number.")
@hint("Is your scale exact if d_k is not a square?")
def score_scale_whole_root(q, k):
    return q @ np.swapaxes(k, -1, -2) / int(np.sqrt(q.shape[-1]))


@mistake("score_scale_eps", "attention_scores")
@says("A small number is added to the scale, which makes every score a little too small.")
@hint("Can this divisor ever be zero, and what does it cost to guard against that?")
def score_scale_eps(q, k):
    return q @ np.swapaxes(k, -1, -2) / (np.sqrt(q.shape[-1]) + 1e-6)


@mistake("score_scale_seq_len", "attention_scores")
@says("The scale is the root of the number of keys instead of the root of d_k.")
@hint("Should the score of two tokens change because the text got longer?")
def score_scale_seq_len(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-2])


@mistake("score_scale_seq_len", "attention_scores")
@says("The scale is the root of the number of queries instead of the root of d_k.")
@hint("Should the score of two tokens change because the text got longer?")
def score_scale_count_of_queries(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-2])


@mistake("score_scale_axis_1", "attention_scores")
@says("The scale is taken from axis 1 of q, which holds time as soon as there is a batch.")
@hint("Is the feature axis at the same place when you count from the other end?")
def score_scale_axis_1(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[1])


@mistake("np_hardcoded_size", "attention_scores")
@says("The scores are divided by 8, the root of a d_k of 64, whatever d_k is.")
@hint("Which number in your code came from the paper and not from the arguments?")
def score_hardcoded_root_of_64(q, k):
    return q @ np.swapaxes(k, -1, -2) / 8.0


@mistake("score_one_scale_for_all", "attention_scores")
@says("The scale is the same in every call, whatever d_k is.")
@hint("Where does the number that you divide by come from, and is it made anew in every call?")
def score_scale_of_first_call(q, k):
    if not first_scale:
        first_scale.append(np.sqrt(q.shape[-1]))
    return q @ np.swapaxes(k, -1, -2) / first_scale[0]


@mistake("np_copy_vs_view_write", "attention_scores")
@says("The scaling is done on a temporary copy of the scores and gets lost.")
@hint("Did the division reach the array that you return?")
def score_scales_a_copy(q, k):
    scores = q @ np.swapaxes(k, -1, -2)
    rows = np.arange(len(scores))
    scores[rows][...] /= np.sqrt(q.shape[-1])
    return scores


@mistake("score_empirical_scale", "attention_scores")
@says("The scores are divided by their own standard deviation instead of by √d_k.")
@hint("Is the scale a property of the numbers at hand or of the length of the vectors?")
def score_empirical_scale(q, k):
    scores = q @ np.swapaxes(k, -1, -2)
    return scores / scores.std()


# the product


@mistake("score_transposed", "attention_scores")
@says("Rows and columns are exchanged: row i belongs to key i.")
@hint("Whose question should row i of the scores describe?")
def score_transposed(q, k):
    return k @ np.swapaxes(q, -1, -2) / np.sqrt(q.shape[-1])


@mistake("score_reshape_for_transpose", "attention_scores")
@says("The keys are reshaped where they should be transposed, which scrambles them.")
@hint("Take a 2 by 3 array and look at its transpose and at its reshape.")
def score_reshape_for_transpose(q, k):
    columns = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    return q @ columns / np.sqrt(q.shape[-1])


@mistake("score_T_reverses_all_axes", "attention_scores")
@says("`.T` is applied to the keys, which on a batch reverses all of their axes.")
@hint("On a batch, which two axes do you want to exchange?")
def score_T_reverses_all_axes(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])


@mistake("np_swapped_args_transpose", "attention_scores")
@says("Axes 1 and 2 of the keys are exchanged, which fits exactly one batch axis.")
@hint("What are the numbers of the last two axes when there is no batch axis, or two?")
def score_swaps_axes_1_and_2(q, k):
    return q @ np.swapaxes(k, 1, 2) / np.sqrt(q.shape[-1])


@mistake("score_np_dot_nd", "attention_scores")
@says("The product compares every text of a batch with every other text.")
@hint("On a batch, are a dot product and a matrix product the same in NumPy?")
def score_np_dot_nd(q, k):
    return np.dot(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])


@mistake("score_np_dot_nd", "attention_scores")
@says("Each query is compared with the keys of all texts in the batch, summed up.")
@hint("Change one text of a batch: may the scores of another one move?")
def score_summed_over_batch(q, k):
    if k.ndim > 2:
        k = np.broadcast_to(k.sum(axis=0), k.shape)
    return scaled_scores(q, k)


@mistake("score_first_text_for_all", "attention_scores")
@says("The queries of every text in a batch are compared with the keys of the first.")
@hint("Whose keys does the second text of a batch meet?")
def score_first_text_for_all(q, k):
    if k.ndim > 2:
        k = np.broadcast_to(k[:1], k.shape)
    return scaled_scores(q, k)


@mistake("score_elementwise", "attention_scores")
@says("Query i is compared with key i only.")
@hint("Does every query meet every key?")
def score_elementwise(q, k):
    return (q * k).sum(axis=-1) / np.sqrt(q.shape[-1])


@mistake("score_cosine_or_abs", "attention_scores")
@says("Queries and keys are divided by their lengths, which gives a cosine.")
@hint("Double one key: what should its scores do?")
def score_cosine(q, k):
    q_length = np.linalg.norm(q, axis=-1, keepdims=True)
    k_length = np.linalg.norm(k, axis=-1, keepdims=True)
    return (q / q_length) @ np.swapaxes(k / k_length, -1, -2)


@mistake("score_cosine_or_abs", "attention_scores")
@says("The sign of the scores is thrown away.")
@hint("What should the score of two opposite vectors be?")
def score_abs(q, k):
    return np.abs(scaled_scores(q, k))


@mistake("np_symmetric_shapes_only", "attention_scores")
@says("The loop over the keys runs to the number of queries and leaves later keys at 0.")
@hint("Which of your two loops counts what?")
def score_loop_counts_queries(q, k):
    scores = np.zeros((*q.shape[:-1], k.shape[-2]))
    for i in range(q.shape[-2]):
        for j in range(q.shape[-2]):
            scores[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(axis=-1) / np.sqrt(q.shape[-1])
    return scores


# what belongs to other steps


@mistake("mask_causal_in_bidirectional_op", "attention_scores")
@says("A causal mask is built into the scores.")
@hint("Which step decides who may look at whom?")
def score_masked_already(q, k):
    scores = scaled_scores(q, k)
    return np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)


@mistake("score_softmax_already", "attention_scores")
@says("A softmax is applied to the scores already.")
@hint("May a score be negative or larger than 1?")
def score_softmax_already(q, k):
    scores = scaled_scores(q, k)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake("score_softmax_already", "attention_scores")
@says("A softmax is applied to the scores already.")
@hint("May a score be negative or larger than 1?")
def score_softmax_already_unstable(q, k):
    exponentials = np.exp(scaled_scores(q, k))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake("score_minus_row_maximum", "attention_scores")
@says("The maximum of each row is subtracted from the scores already.")
@hint("Which step has to keep an exponential from overflowing?")
def score_minus_row_maximum(q, k):
    scores = scaled_scores(q, k)
    return scores - scores.max(axis=-1, keepdims=True)


@mistake("score_clipped", "attention_scores")
@says("Scores beyond 100 in size are cut off.")
@hint("Two keys fit a query differently well, and both very well: do their scores differ?")
def score_clipped(q, k):
    return np.clip(scaled_scores(q, k), -100.0, 100.0)


@mistake("score_scaled_by_largest", "attention_scores")
@says("Large scores are scaled down by the largest of the whole batch.")
@hint("Make one text of a batch very large: whose scores change?")
def score_scaled_by_largest_of_batch(q, k):
    scores = scaled_scores(q, k)
    return scores / max(1.0, np.abs(scores).max() / 100.0)


@mistake("score_scaled_by_largest", "attention_scores")
@says("Large scores are scaled down by the largest of the text, later keys included.")
@hint("Make the last key of a text very large: which scores change?")
def score_scaled_by_largest_of_text(q, k):
    scores = scaled_scores(q, k)
    largest = np.abs(scores).max(axis=(-2, -1), keepdims=True)
    return scores / np.maximum(1.0, largest / 100.0)


# types and memory


@mistake("score_int_dtype", "attention_scores")
@says("The scores are collected in an array of integers, which cuts off the decimals.")
@hint("Which type do the arrays have that you create yourself?")
def score_int_buffer(q, k):
    scores = np.zeros((*q.shape[:-1], k.shape[-2]), dtype=int)
    scores[...] = scaled_scores(q, k)
    return scores


@mistake("score_int_dtype", "attention_scores")
@says("The scores are rounded down by a division that gives whole numbers only.")
@hint("Python has two signs for division: which one is yours?")
def score_floor_division(q, k):
    return q @ np.swapaxes(k, -1, -2) // np.sqrt(q.shape[-1])


@mistake("np_float32_downcast", "attention_scores")
@says("The scores are stored in float32 even where the inputs are float64.")
@hint("How many digits does the array hold that you collect the scores in?")
def score_float32_buffer(q, k):
    scores = np.empty((*q.shape[:-1], k.shape[-2]), dtype=np.float32)
    scores[...] = scaled_scores(q, k)
    return scores


@mistake("np_float64_only", "attention_scores")
@says("The bytes of the arguments are read as float64, whatever they are.")
@hint("How many bytes does one number in float32 have?")
def score_bytes_as_float64(q, k):
    q = np.frombuffer(q.tobytes()).reshape(q.shape)
    k = np.frombuffer(k.tobytes()).reshape(k.shape)
    return scaled_scores(q, k)


@mistake("np_squeeze_kills_axis", "attention_scores")
@says("Axes of length 1 vanish from the scores.")
@hint("Which shape should one query on seven keys give?")
def score_squeezed(q, k):
    return np.squeeze(scaled_scores(q, k))


@mistake("np_broad_except", "attention_scores")
@says("When the product fails, as it does on most batches, zeros are returned.")
@hint("When does your `try` fail, and what do you return then?")
def score_zeros_on_error(q, k):
    try:
        return q @ k.T / np.sqrt(q.shape[-1])
    except ValueError:
        return np.zeros((*q.shape[:-1], k.shape[-2]))


@mistake("np_reads_only_flag_error", "attention_scores")
@says("The keys are read straight from their memory, which fails on most views.")
@hint("Does every second row of an array lie in one piece of memory?")
def score_reads_memory_of_k(q, k):
    keys = np.frombuffer(k, dtype=k.dtype).reshape(k.shape)
    return scaled_scores(q, keys)


@mistake("np_input_mutated", "attention_scores")
@says("The caller's queries are scaled in place.")
@hint("Is the array of the caller the same after the call?")
def score_scales_q_in_place(q, k):
    q /= np.sqrt(q.shape[-1])
    return q @ np.swapaxes(k, -1, -2)


@mistake("np_input_mutated", "attention_scores")
@says("The caller's queries are scaled in place unless they are protected.")
@hint("May you change an array because nothing stops you?")
def score_scales_writeable_q(q, k):
    scaled = np.divide(q, np.sqrt(q.shape[-1]), out=q if q.flags.writeable else None)
    return scaled @ np.swapaxes(k, -1, -2)


@mistake("np_returns_alias", "attention_scores")
@says("A later call overwrites the array that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def score_reused_buffer(q, k):
    shape = (*q.shape[:-1], k.shape[-2])
    scores = score_buffers.setdefault(shape, np.empty(shape))
    scores[...] = scaled_scores(q, k)
    return scores


@mistake("np_memoised_on_shape", "attention_scores")
@says("The answer of an earlier call is given again to any input of the same shape.")
@hint("What else does a stored answer depend on, besides a shape?")
def score_memoised_on_shape(q, k):
    shapes = q.shape, k.shape
    if shapes not in scores_before:
        scores_before[shapes] = scaled_scores(q, k)
    return scores_before[shapes].copy()


@mistake("np_module_state", "attention_scores")
@says("The keys of all earlier calls are kept and scored as well.")
@hint("Does your answer depend on what was called before?")
def score_keys_pile_up(q, k):
    asked_keys.append(k)
    return scaled_scores(q, np.concatenate(asked_keys, axis=-2))


@mistake("score_scale_first_axis", "attention_scores")
@says("The scale is the root of len(q), the length of q's first axis, not that of d_k.")
@hint("What does len() count of an array with two axes, and of one with three?")
def score_scale_first_axis(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(len(q))


@mistake("score_scale_first_axis", "attention_scores")
@says("The scale is the root of len(k), the length of k's first axis, not that of d_k.")
@hint("What does len() count of an array with two axes, and of one with three?")
def score_scale_first_axis_of_keys(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(len(k))


@mistake("score_transpose_names_two_axes", "attention_scores")
@says("k.transpose(-2, -1) is an order of all axes, not a swap of the last two.")
@hint("What does transpose make of its arguments: two axes to swap, or a new order of all?")
def score_transpose_names_two_axes(q, k):
    return q @ k.transpose(-2, -1) / np.sqrt(q.shape[-1])


@mistake("score_half_precision", "attention_scores")
@says("The scores are computed in half precision, float16.")
@hint("How many digits does the type hold in which you multiply?")
def score_half_precision(q, k):
    product = q.astype(np.float16) @ np.swapaxes(k, -1, -2).astype(np.float16)
    return product / np.sqrt(q.shape[-1])
