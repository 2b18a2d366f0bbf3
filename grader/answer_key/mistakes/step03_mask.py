"""Known wrong versions of step 3, each with one mistake."""

import numpy as np

from grader.answer_key.variants import hint, mistake, says

masks_by_size = {}
masks_by_shape = {}
mask_buffers = {}
mask_board = np.zeros((1000, 1000), dtype=bool)
mask_memory = np.zeros(1 << 20, dtype=bool)


def right_causal_mask(t_q, t_k=None):
    """Return the right causal mask, for variants that go wrong before or after it."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


# causal_mask: the triangle


@mistake("mask_none", "causal_mask")
@says("The mask allows everything.")
@hint("May the first token look at the second one?")
def mask_none_causal(t_q, t_k=None):
    return np.ones_like(right_causal_mask(t_q, t_k))


@mistake("mask_allows_one_future", "causal_mask")
@says("The triangle is off by one: each token sees the next one too.")
@hint("Look at the first row of your mask: how many keys may the first token use?")
def mask_allows_one_future(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(t_q, t_k, t_k - t_q + 1, dtype=bool)


@mistake("mask_strict_excludes_self", "causal_mask")
@says("The diagonal is masked too: a token does not see itself.")
@hint("What is left for the very first token to look at?")
def mask_strict_excludes_self(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(t_q, t_k, t_k - t_q - 1, dtype=bool)


@mistake("mask_top_left + mask_allows_one_future", "causal_mask")
@says(
    "At least two things differ. The triangle begins in the upper left corner, however many keys "
    "come before the first query. It is off by one, too: each token sees the next one."
)
@hint("Draw the mask of two queries and five keys: how many keys may the first of them use?")
def mask_top_left_beside_diagonal(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(t_q, t_k, 1, dtype=bool)


@mistake("mask_top_left + mask_strict_excludes_self", "causal_mask")
@says(
    "At least two things differ. The triangle begins in the upper left corner, however many keys "
    "come before the first query. The diagonal is masked, too: a token does not see itself."
)
@hint("Draw the mask of two queries and five keys: what is left for the first of them?")
def mask_top_left_without_diagonal(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(t_q, t_k, -1, dtype=bool)


@mistake("mask_transposed", "causal_mask")
@says("The upper triangle is kept: a token sees itself and what comes after it.")
@hint("Read row 0 of your mask aloud: token 0 may look at which keys?")
def mask_upper_triangle(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.triu(np.ones((t_q, t_k), dtype=bool), t_k - t_q)


@mistake("mask_inverted_polarity", "causal_mask")
@says("True marks what is forbidden.")
@hint("Write down in words what True means in a mask of this kit.")
def mask_inverted_causal(t_q, t_k=None):
    return ~right_causal_mask(t_q, t_k)


@mistake("mask_sees_only_self", "causal_mask")
@says("Only the diagonal is allowed: each token sees itself and nothing else.")
@hint("Why compute scores at all, if a token may only look at itself?")
def mask_sees_only_self(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.eye(t_q, t_k, t_k - t_q, dtype=bool)


@mistake("mask_window_off_by_k", "causal_mask")
@says("Only the token itself and the one before it are allowed.")
@hint("How far back may a token look?")
def mask_window_of_two(t_q, t_k=None):
    mask = right_causal_mask(t_q, t_k)
    return mask & ~np.tri(*mask.shape, mask.shape[1] - t_q - 2, dtype=bool)


@mistake("mask_block_granular", "causal_mask")
@says("Time is cut into blocks of two, and the tokens of a block see each other.")
@hint("Does your rule hold between the two tokens of a pair, too?")
def mask_block_granular(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    query_blocks = np.arange(t_k - t_q, t_k) // 2
    return np.arange(t_k) // 2 <= query_blocks[:, None]


@mistake("mask_hardcoded_size", "causal_mask")
@says("The mask is cut out of a triangle of 4 by 4 and is never larger.")
@hint("Where does your mask get its size from?")
def mask_cut_from_4_by_4(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(4, dtype=bool)[-t_q:, :t_k]


@mistake("mask_hardcoded_size", "causal_mask")
@says("Keys from the ninth on are open to every query.")
@hint("Try your mask on a text longer than your favourite example.")
def mask_open_beyond_8(t_q, t_k=None):
    mask = right_causal_mask(t_q, t_k)
    mask[:, 8:] = True
    return mask


@mistake("mask_float_for_bool", "causal_mask")
@says("The mask to be added to scores is returned instead of the boolean one.")
@hint("Two kinds of mask occur in this step: which of them does this function make?")
def mask_float_for_bool(t_q, t_k=None):
    return np.where(right_causal_mask(t_q, t_k), 0.0, -np.inf)


# causal_mask: more keys than queries


@mistake("mask_rect_top_left", "causal_mask")
@says("The triangle starts at the top left although the queries are the last positions.")
@hint("With one new query and ten known keys, how many keys should it see?")
def mask_rect_top_left(t_q, t_k=None):
    return np.tri(*right_causal_mask(t_q, t_k).shape, dtype=bool)


@mistake("mask_rect_offset_sign", "causal_mask")
@says("The triangle is shifted the wrong way when there are more keys than queries.")
@hint("Do more keys from the past make the first row of the mask fuller or emptier?")
def mask_rect_offset_sign(t_q, t_k=None):
    t_k = right_causal_mask(t_q, t_k).shape[1]
    return np.tri(t_q, t_k, t_q - t_k, dtype=bool)


@mistake("mask_rect_off_by_one", "causal_mask")
@says("With more keys than queries no query sees its own position.")
@hint("At which position of the keys is the last query?")
def mask_rect_off_by_one(t_q, t_k=None):
    mask = right_causal_mask(t_q, t_k)
    if mask.shape[1] > t_q:
        mask = np.tri(t_q, t_k, t_k - t_q - 1, dtype=bool)
    return mask


@mistake("mask_dropped_on_some_path", "causal_mask")
@says("With more keys than queries everything is allowed.")
@hint("Several new tokens at once: may the first of them see the last?")
def mask_rect_all_allowed(t_q, t_k=None):
    mask = right_causal_mask(t_q, t_k)
    return mask | (mask.shape[1] > t_q)


@mistake("np_symmetric_shapes_only", "causal_mask")
@says("The number of keys is ignored: the mask is always square.")
@hint("Which two lengths does causal_mask need?")
def mask_always_square(t_q, t_k=None):
    right_causal_mask(t_q, t_k)
    return np.tri(t_q, dtype=bool)


# causal_mask: errors and memory


@mistake("mask_no_error", "causal_mask")
@says("Fewer keys than queries are accepted without an error.")
@hint("Where would the first query be if there were more queries than keys?")
def mask_no_error(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


@mistake("mask_wrong_error_type", "causal_mask")
@says("Fewer keys than queries raise an error, but of another type than ValueError.")
@hint("Which error does the docstring name?")
def mask_wrong_error_type(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    assert t_q <= t_k, "t_k must be at least t_q"
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


@mistake("mask_zero_taken_for_default", "causal_mask")
@says("A t_k of 0 is taken for a t_k that was not given.")
@hint("Which numbers count as false in Python?")
def mask_zero_taken_for_default(t_q, t_k=None):
    return right_causal_mask(t_q, t_k or t_q)


@mistake("np_memoised_on_shape", "causal_mask")
@says("Masks are remembered by the number of queries alone.")
@hint("Which arguments does the mask depend on?")
def mask_memoised_on_t_q(t_q, t_k=None):
    if t_q not in masks_by_size:
        masks_by_size[t_q] = right_causal_mask(t_q, t_k)
    if t_k is not None and t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    return masks_by_size[t_q].copy()


@mistake("np_returns_alias", "causal_mask")
@says("All masks are windows on one large array, so a later call overwrites an earlier mask.")
@hint("Make two masks of different sizes and look at the first one again.")
def mask_window_on_memory(t_q, t_k=None):
    right = right_causal_mask(t_q, t_k)
    mask = mask_board[: right.shape[0], : right.shape[1]]
    mask[...] = right
    return mask


@mistake("np_returns_alias", "causal_mask")
@says("All masks share one piece of memory, so a later call overwrites an earlier mask.")
@hint("Make two masks of different sizes and look at the first one again.")
def mask_shares_memory(t_q, t_k=None):
    right = right_causal_mask(t_q, t_k)
    mask = mask_memory[: right.size].reshape(right.shape)
    mask[...] = right
    return mask


# padding_mask


@mistake("pad_ignored", "padding_mask")
@says("The padding id makes no difference: tokens equal to it count as real.")
@hint("Does your function use the padding id?")
def pad_ignored(tokens, pad_id):
    return np.ones_like(tokens, dtype=bool)[..., None, :]


@mistake("pad_inverted", "padding_mask")
@says("True marks the padding instead of the real tokens.")
@hint("Which value marks a real token in your mask?")
def pad_inverted(tokens, pad_id):
    return (tokens == pad_id)[..., None, :]


@mistake("pad_on_query_rows", "padding_mask")
@says("The new axis comes after the tokens, so queries are hidden instead of keys.")
@hint("Should padding stop someone from looking, or from being looked at?")
def pad_on_query_rows(tokens, pad_id):
    return (tokens != pad_id)[..., :, None]


@mistake("pad_both_axes_nan", "padding_mask")
@says("Padding hides both queries and keys, and the mask is a square.")
@hint("What is left in the row of a padding token?")
def pad_both_axes(tokens, pad_id):
    real = tokens != pad_id
    return real[..., :, None] & real[..., None, :]


@mistake("mask_broadcast_on_wrong_axis", "padding_mask")
@says("The axis for the queries is missing.")
@hint("Write the shape of the scores over the shape of your mask: which axes meet?")
def pad_query_axis_missing(tokens, pad_id):
    return np.asarray(tokens != pad_id)


@mistake("pad_batch_axis_required", "padding_mask")
@says("The new axis is put in place 1, which is right for exactly one batch axis.")
@hint("Where does the new axis belong when you count from the end?")
def pad_new_axis_in_place_1(tokens, pad_id):
    return np.expand_dims(tokens != pad_id, 1)


@mistake("np_squeeze_kills_axis", "padding_mask")
@says("Axes of length 1 vanish from the tokens.")
@hint("What do you return for a batch of one text?")
def pad_squeezed(tokens, pad_id):
    return np.atleast_1d(np.squeeze(tokens != pad_id))[..., None, :]


@mistake("pad_inferred_from_token_0", "padding_mask")
@says("Token 0 is taken for padding, whatever the padding id is.")
@hint("Where does your function get the padding id from?")
def pad_inferred_from_token_0(tokens, pad_id):
    return (tokens != 0)[..., None, :]


@mistake("pad_inferred_from_token_0", "padding_mask")
@says("Token 0 is hidden besides the padding.")
@hint("May a real word have the id 0?")
def pad_token_0_hidden_too(tokens, pad_id):
    return ((tokens != pad_id) & (tokens != 0))[..., None, :]


@mistake("pad_taken_for_smallest_id", "padding_mask")
@says("Every token with an id below the padding id is taken for padding, too.")
@hint("Does the padding id have to be the smallest of all?")
def pad_taken_for_smallest_id(tokens, pad_id):
    return (tokens > pad_id)[..., None, :]


@mistake("pad_first_row_for_all", "padding_mask")
@says("The padding of the first text is used for the whole batch.")
@hint("Is the padding at the same place in every text?")
def pad_first_row_for_all(tokens, pad_id):
    real = tokens != pad_id
    if real.ndim > 1:
        real = np.broadcast_to(real[:1], real.shape)
    return real[..., None, :]


@mistake("pad_all_rows_must_agree", "padding_mask")
@says("A position is hidden in all texts of a batch as soon as one of them has padding.")
@hint("Does the padding of one text say anything about another?")
def pad_all_rows_must_agree(tokens, pad_id):
    real = tokens != pad_id
    if real.ndim > 1:
        real = np.broadcast_to(real.all(axis=0), real.shape)
    return real[..., None, :]


@mistake("pad_length_off_by_one", "padding_mask")
@says("The mask is made from the length of the text and is one token too long.")
@hint("For a length of 3, which positions are real?")
def pad_one_too_long(tokens, pad_id):
    length = np.sum(tokens != pad_id, axis=-1, keepdims=True)
    return (np.arange(tokens.shape[-1]) <= length)[..., None, :]


@mistake("pad_length_off_by_one", "padding_mask")
@says("The mask is made from the length of the text and is one token too short.")
@hint("For a length of 3, what is the number of the last real position?")
def pad_one_too_short(tokens, pad_id):
    length = np.sum(tokens != pad_id, axis=-1, keepdims=True)
    return (np.arange(tokens.shape[-1]) < length - 1)[..., None, :]


@mistake("pad_only_at_the_end", "padding_mask")
@says("The real tokens are counted and assumed to be at the beginning.")
@hint("What does the number of real tokens tell about where they are?")
def pad_only_at_the_end(tokens, pad_id):
    length = np.sum(tokens != pad_id, axis=-1, keepdims=True)
    return (np.arange(tokens.shape[-1]) < length)[..., None, :]


@mistake("pad_hides_all_that_follows", "padding_mask")
@says("Everything after the first padding token is hidden.")
@hint("May a real token follow after padding?")
def pad_hides_all_that_follows(tokens, pad_id):
    return np.logical_and.accumulate(tokens != pad_id, axis=-1)[..., None, :]


@mistake("pad_trailing_only", "padding_mask")
@says("Padding is noticed only at the end, not at the start or in the middle.")
@hint("Put padding in front of a text and look at your mask.")
def pad_trailing_only(tokens, pad_id):
    backwards = (tokens != pad_id)[..., ::-1]
    return np.logical_or.accumulate(backwards, axis=-1)[..., ::-1][..., None, :]


@mistake("pad_id_zero_is_none", "padding_mask")
@says("A padding id of 0 is taken for no padding id at all.")
@hint("Which numbers count as false in Python?")
def pad_id_zero_is_none(tokens, pad_id):
    real = tokens != pad_id if pad_id else np.ones_like(tokens, dtype=bool)
    return real[..., None, :]


@mistake("np_int64_only", "padding_mask")
@says("Tokens of another integer type than int64 are refused.")
@hint("Which types of integers may an array of tokens have in this course?")
def np_int64_only(tokens, pad_id):
    if tokens.dtype != np.int64:
        raise TypeError("tokens must be int64")
    return (tokens != pad_id)[..., None, :]


@mistake("np_memoised_on_shape", "padding_mask")
@says("The mask of earlier texts is given again to any texts of the same shape.")
@hint("Do two texts of the same length have their padding at the same places?")
def pad_memoised_on_shape(tokens, pad_id):
    key = tokens.shape, int(pad_id)
    if key not in masks_by_shape:
        masks_by_shape[key] = (tokens != pad_id)[..., None, :]
    return masks_by_shape[key].copy()


@mistake("np_input_mutated", "padding_mask")
@says("The caller's tokens are changed on the way to the mask.")
@hint("Are the tokens of the caller the same after the call?")
def pad_changes_tokens(tokens, pad_id):
    tokens -= pad_id
    return (tokens != 0)[..., None, :]


# additive_mask


@mistake("mask_inverted_polarity", "additive_mask")
@says("The result has minus infinity where attending is allowed.")
@hint("Is a True in the mask a yes or a no?")
def additive_inverted(mask):
    return np.where(mask, -np.inf, 0.0)


@mistake("mask_zero_times_neginf", "additive_mask")
@says("Zero is multiplied by infinity, which gives NaN at every allowed place.")
@hint("Compute 0 times infinity in NumPy.")
def additive_zero_times_infinity(mask):
    return (1 - mask) * -np.inf


@mistake("mask_fill_positive_huge", "additive_mask")
@says("The result has plus infinity where attending is forbidden.")
@hint("Which sign makes an exponential vanish?")
def additive_positive_infinity(mask):
    return np.where(mask, 0.0, np.inf)


@mistake("mask_bool_added", "additive_mask")
@says("The mask is returned as ones and zeros, so adding it forbids nothing.")
@hint("What does adding 0 do to a score, and what should happen to a forbidden one?")
def additive_ones_and_zeros(mask):
    return mask.astype(float)


@mistake("mask_bool_added", "additive_mask")
@says("Forbidden places get -1, which hardly lowers a score.")
@hint("How low must a score be so that its exponential is exactly zero?")
def additive_minus_one(mask):
    return mask.astype(float) - 1.0


@mistake("mask_fill_too_weak", "additive_mask")
@says("A small number is added before the logarithm, so forbidden places get only -21.")
@hint("Which value does a logarithm approach at zero, and is it wrong here?")
def additive_log_with_eps(mask):
    return np.log(mask + 1e-9)


@mistake("mask_fill_minus_1e9", "additive_mask")
@says("Forbidden places get -1e9, which is a large number but not a ban.")
@hint("What happens in a row where every place gets your number?")
def additive_minus_1e9(mask):
    return np.where(mask, 0.0, -1e9)


@mistake("mask_finfo_min_summed", "additive_mask")
@says("Forbidden places get the lowest finite number, two of which overflow when added.")
@hint("Is there a value that stays what it is when you add it to itself?")
def additive_lowest_finite(mask):
    return np.where(mask, 0.0, np.finfo(float).min)


@mistake("mask_bool_buffer", "additive_mask")
@says("The result is collected in a boolean array, which cannot hold minus infinity.")
@hint("Which type does an array have that is made like the mask?")
def additive_bool_buffer(mask):
    summand = np.zeros_like(mask)
    summand[~mask] = -np.inf
    return summand


@mistake("np_copy_vs_view_write", "additive_mask")
@says("Minus infinity is written into a temporary copy and gets lost.")
@hint("Did the assignment reach the array that you return?")
def additive_writes_into_copy(mask):
    summand = np.zeros(mask.shape)
    rows = np.arange(len(mask))
    summand[rows][~mask[rows]] = -np.inf
    return summand


@mistake("mask_causal_in_bidirectional_op", "additive_mask")
@says("A causal mask is made from the shape, and the given mask is not looked at.")
@hint("Try a mask that is not a triangle.")
def additive_always_causal(mask):
    n_queries, n_keys = mask.shape[-2:]
    causal = np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    return np.broadcast_to(np.where(causal, 0.0, -np.inf), mask.shape).copy()


@mistake("mask_two_axes_only", "additive_mask")
@says("Two loops run over two axes, so a mask with a batch axis fails.")
@hint("How many axes does the mask have for a batch with padding?")
def additive_two_axes_only(mask):
    summand = np.zeros(mask.shape)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if not mask[i, j]:
                summand[i, j] = -np.inf
    return summand


@mistake("np_returns_alias", "additive_mask")
@says("A later call overwrites the array that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def additive_reused_buffer(mask):
    summand = mask_buffers.setdefault(mask.shape, np.empty(mask.shape))
    summand[...] = np.where(mask, 0.0, -np.inf)
    return summand


@mistake("np_input_mutated", "additive_mask")
@says("The caller's mask is inverted in place.")
@hint("Is the mask of the caller the same after the call?")
def additive_inverts_in_place(mask):
    forbidden = np.logical_not(mask, out=mask)
    return np.where(forbidden, -np.inf, 0.0)


# apply_mask: what is written where


@mistake("mask_none", "apply_mask")
@says("The scores are returned without any mask.")
@hint("Where does your function use the mask?")
def mask_none_applied(scores, mask):
    return np.array(scores)


@mistake("mask_result_discarded", "apply_mask")
@says("The masked scores are computed and thrown away.")
@hint("Does the function that you call change its argument, or return something new?")
def mask_result_discarded(scores, mask):
    masked = np.array(scores)
    np.where(mask, masked, -np.inf)
    return masked


@mistake("np_copy_vs_view_write", "apply_mask")
@says("Minus infinity is written into a temporary copy of the scores and gets lost.")
@hint("Did the assignment reach the array that you return?")
def mask_writes_into_copy(scores, mask):
    masked = np.array(scores)
    rows = np.arange(len(masked))
    masked[rows][~np.broadcast_to(mask, scores.shape)] = -np.inf
    return masked


@mistake("mask_inverted_polarity", "apply_mask")
@says("The allowed scores are removed and the forbidden ones kept.")
@hint("Say in words what True means, then read the line that uses the mask.")
def mask_inverted_applied(scores, mask):
    return np.where(mask, -np.inf, scores)


@mistake("mask_tilde_on_int", "apply_mask")
@says("The mask is turned into integers and inverted with `~`, which forbids everything.")
@hint("Print your mask right before it is used: what is the inverse of 1?")
def mask_tilde_on_int(scores, mask):
    blocked = ~np.asarray(mask, dtype=int)
    return np.where(blocked, -np.inf, scores)


@mistake("mask_transposed", "apply_mask")
@says("The mask is transposed before it is used.")
@hint("Which axis of the mask belongs to the queries?")
def mask_transposed_applied(scores, mask):
    return np.where(np.swapaxes(mask, -1, -2), scores, -np.inf)


@mistake("mask_query_rows_not_keys", "apply_mask")
@says("A query with one forbidden key loses all of its keys.")
@hint("Is the mask about who looks, or about what is looked at?")
def mask_query_rows_not_keys(scores, mask):
    return np.where(np.all(mask, axis=-1, keepdims=True), scores, -np.inf)


@mistake("mask_key_columns_for_all", "apply_mask")
@says("A key that is forbidden to one query is taken from all of them.")
@hint("May two queries see different keys?")
def mask_key_columns_for_all(scores, mask):
    return np.where(np.all(mask, axis=-2, keepdims=True), scores, -np.inf)


@mistake("mask_causal_in_bidirectional_op", "apply_mask")
@says("A causal mask is applied on top of the mask that was given.")
@hint("Does this function know that the caller wants a causal mask?")
def mask_causal_on_top(scores, mask):
    n_queries, n_keys = scores.shape[-2:]
    causal = np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    return np.where(mask & causal, scores, -np.inf)


@mistake("mask_fill_zero", "apply_mask")
@says("Forbidden scores are set to 0.")
@hint("What does the exponential make of a score of zero?")
def mask_fill_zero(scores, mask):
    return np.where(mask, scores, 0.0)


@mistake("mask_multiply_scores", "apply_mask")
@says("The scores are multiplied by the mask, which turns forbidden ones into 0.")
@hint("Is zero a small score?")
def mask_multiply_scores(scores, mask):
    return scores * mask


@mistake("mask_bool_added", "apply_mask")
@says("The mask is added to the scores as ones and zeros.")
@hint("How much does adding one change a probability, compared with forbidding it?")
def mask_bool_added(scores, mask):
    return scores + mask


@mistake("mask_fill_tiny_number", "apply_mask")
@says("Forbidden scores are set to the smallest positive number, which is almost 0.")
@hint("Very small and very negative are different things.")
def mask_fill_tiny_number(scores, mask):
    return np.where(mask, scores, np.finfo(float).tiny)


@mistake("mask_fill_positive_huge", "apply_mask")
@says("Forbidden scores are set to plus infinity.")
@hint("Which sign makes an exponential vanish?")
def mask_fill_positive_huge(scores, mask):
    return np.where(mask, scores, np.inf)


@mistake("mask_fill_too_weak", "apply_mask")
@says("Forbidden scores are set to -10.")
@hint("Could an allowed score be lower than your forbidden value?")
def mask_fill_too_weak(scores, mask):
    return np.where(mask, scores, -10.0)


@mistake("mask_fill_minus_1e4", "apply_mask")
@says("Forbidden scores are set to -10000.")
@hint("How negative is negative enough for any input?")
def mask_fill_minus_1e4(scores, mask):
    return np.where(mask, scores, -1e4)


@mistake("mask_fill_minus_1e9", "apply_mask")
@says("Forbidden scores are set to -1e9, which is a large number but not a ban.")
@hint("What is the largest of the scores in a row where everything is forbidden?")
def mask_fill_minus_1e9(scores, mask):
    return np.where(mask, scores, -1e9)


@mistake("mask_fill_minus_1e9", "apply_mask")
@says("-1e9 is added to forbidden scores, so they stay different from each other.")
@hint("Is anything left of the old score at a forbidden place?")
def mask_minus_1e9_added(scores, mask):
    return scores + (1.0 - mask) * -1e9


@mistake("mask_zero_times_neginf", "apply_mask")
@says("Zero is multiplied by infinity, which gives NaN at every allowed place.")
@hint("Compute 0 times infinity in NumPy.")
def mask_zero_times_neginf(scores, mask):
    return scores + (1.0 - mask) * -np.inf


@mistake("mask_finfo_min_summed", "apply_mask")
@says("Forbidden places get the lowest finite number, which is not minus infinity.")
@hint("What happens in a row where every place gets it?")
def mask_lowest_number(scores, mask):
    return np.where(mask, scores, np.finfo(scores.dtype).min)


@mistake("np_nan_to_num_mask", "apply_mask")
@says("The infinities are cleaned away as if they were errors.")
@hint("Which values does your clean-up replace, and were they wrong?")
def mask_nan_to_num(scores, mask):
    return np.nan_to_num(np.where(mask, scores, -np.inf))


@mistake("mask_zero_score_forbidden", "apply_mask")
@says("Forbidden scores are marked by 0, so an allowed score of exactly 0 is lost, too.")
@hint("Can a score have the value that you use as a mark?")
def mask_zero_score_forbidden(scores, mask):
    marked = scores * mask
    return np.where(marked == 0, -np.inf, marked)


@mistake("mask_threshold", "apply_mask")
@says("Every score below -5000 is taken for a forbidden one.")
@hint("Which of your scores may be very negative and allowed all the same?")
def mask_threshold(scores, mask):
    masked = np.where(mask, scores, -1e4)
    return np.where(masked < -5e3, -np.inf, masked)


@mistake("score_clipped", "apply_mask")
@says("Allowed scores beyond 1000 in size are cut off.")
@hint("Does a mask change the scores that it allows?")
def mask_clips_scores(scores, mask):
    return np.where(mask, np.clip(scores, -1e3, 1e3), -np.inf)


# apply_mask: shapes, types and memory


@mistake("mask_first_batch_only", "apply_mask")
@says("Only the first text of a batch is masked.")
@hint("Does the second text of the batch get the same treatment?")
def mask_first_batch_only(scores, mask):
    masked = np.where(mask, scores, -np.inf)
    if scores.ndim > 2:
        masked[1:] = scores[1:]
    return masked


@mistake("mask_first_head_only", "apply_mask")
@says("With two batch axes only the first entry of the second one is masked.")
@hint("Do all heads of a text respect the mask?")
def mask_first_head_only(scores, mask):
    masked = np.where(mask, scores, -np.inf)
    if scores.ndim > 3:
        masked[:, 1:] = scores[:, 1:]
    return masked


@mistake("pad_first_row_for_all", "apply_mask")
@says("The mask of the first text is used for the whole batch.")
@hint("Does each text of a batch bring its own mask?")
def mask_of_first_text_for_all(scores, mask):
    return np.where(mask[:1] if mask.ndim > 2 else mask, scores, -np.inf)


@mistake("mask_dropped_on_some_path", "apply_mask")
@says("A mask with fewer axes than the scores is ignored.")
@hint("Does every way through your function apply the mask?")
def mask_dropped_if_it_broadcasts(scores, mask):
    if mask.ndim < scores.ndim:
        return np.array(scores)
    return np.where(mask, scores, -np.inf)


@mistake("mask_broadcast_on_wrong_axis", "apply_mask")
@says("A smaller mask is lined up with the first axes of the scores, not with the last.")
@hint("Give every axis a different length and see whether your code still runs.")
def mask_lined_up_left(scores, mask):
    missing = scores.ndim - mask.ndim
    return np.where(mask.reshape(mask.shape + (1,) * missing), scores, -np.inf)


@mistake("mask_index_does_not_broadcast", "apply_mask")
@says("The scores are indexed with the mask, which needs a mask of their full shape.")
@hint("Does indexing with a boolean array stretch axes of length 1?")
def mask_index_does_not_broadcast(scores, mask):
    masked = np.array(scores)
    masked[~mask] = -np.inf
    return masked


@mistake("mask_index_does_not_broadcast", "apply_mask")
@says(
    "The caller's scores are indexed with the mask and changed, which also needs a mask of their "
    "full shape."
)
@hint("Whose array is changed here? And does indexing stretch axes of length 1?")
def mask_index_in_place(scores, mask):
    scores[~mask] = -np.inf
    return scores


@mistake("np_broad_except", "apply_mask")
@says("When indexing with the mask fails, the scores are returned without it.")
@hint("What does your function return when the `try` fails?")
def mask_dropped_on_error(scores, mask):
    masked = np.array(scores)
    try:
        masked[~mask] = -np.inf
    except IndexError:
        return masked
    return masked


@mistake("np_squeeze_kills_axis", "apply_mask")
@says("Axes of length 1 vanish from the mask before it is used.")
@hint("What is the axis of length 1 in a padding mask for?")
def mask_squeezed(scores, mask):
    return np.where(np.squeeze(mask), scores, -np.inf)


@mistake("np_float32_downcast", "apply_mask")
@says("The scores are rounded to float32 even where they are float64.")
@hint("Should an allowed score change at all?")
def mask_float32_downcast(scores, mask):
    return np.where(mask, scores.astype(np.float32), -np.inf)


@mistake("np_float64_only", "apply_mask")
@says("Scores are shifted by 100000 and back, which float32 has too few digits for.")
@hint("How many decimals does a float32 of that size have left?")
def mask_shift_and_back(scores, mask):
    shifted = (scores + 1e5) * mask
    return np.where(mask, shifted - 1e5, -np.inf)


@mistake("np_returns_alias", "apply_mask")
@says("A later call overwrites the array that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def mask_reused_buffer(scores, mask):
    masked = mask_buffers.setdefault(scores.shape, np.empty(scores.shape))
    masked[...] = np.where(mask, scores, -np.inf)
    return masked


@mistake("np_memoised_on_shape", "apply_mask")
@says("The mask of an earlier call is used again for any scores of the same shape.")
@hint("What else does a stored mask depend on, besides a shape?")
def mask_memoised_on_shape(scores, mask):
    allowed = masks_by_shape.setdefault((scores.shape, mask.shape), np.array(mask))
    return np.where(allowed, scores, -np.inf)


@mistake("np_input_mutated", "apply_mask")
@says("The function writes into an array that it takes for a copy of the scores.")
@hint("Which NumPy functions copy an array, and which only pass it on?")
def mask_asarray_is_no_copy(scores, mask):
    masked = np.asarray(scores)
    masked[np.broadcast_to(~mask, masked.shape)] = -np.inf
    return masked
