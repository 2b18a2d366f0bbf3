"""Known wrong versions of step 9, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from grader.answer_key.variants import hint, mistake, says

kept_heads = {}
kept_merged = {}
kept_outputs = {}
kept_weights = {}


def divides(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads does not divide d_model")


def cut(x, n_heads):
    """Return (..., T, d_model) as (..., T, n_heads, d_head)."""
    divides(x, n_heads)
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)


def projected(x, params):
    return [linear(x, params[f"w_{name}"], params[f"b_{name}"]) for name in "qkv"]


def heads_of(x, params, n_heads):
    return [split_heads(array, n_heads) for array in projected(x, params)]


def spread(mask):
    """Give a head axis to masks that have batch axes."""
    return np.expand_dims(mask, -3) if mask is not None and np.ndim(mask) > 2 else mask


def masked_scores(q, k, mask):
    scores = attention_scores(q, k)
    return scores if mask is None else apply_mask(scores, spread(mask))


def mixed(heads, params):
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


def straight(x, n_heads):
    """Cut without a swap: heads of positions, not of features."""
    *batch, t, d_model = x.shape
    return x.reshape(*batch, n_heads, t, d_model // n_heads)


def interleaved(x, n_heads):
    """Return heads of which head h has the features h, h + n_heads, h + 2 n_heads, ..."""
    *batch, t, d_model = x.shape
    return np.moveaxis(x.reshape(*batch, t, d_model // n_heads, n_heads), -1, -3)


def divided_by_total(exponentials):
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


# split_heads: the features of each head


@mistake("head_reshape_no_transpose", "split_heads")
@says("The reshape goes straight to (n_heads, T, d_head), so a head gets some positions, whole.")
@hint("After your reshape, does head 0 still hold something of every token?")
def head_reshape_no_transpose(x, n_heads):
    divides(x, n_heads)
    return straight(x, n_heads)


@mistake("head_interleaved", "split_heads")
@says("The heads take turns: head h gets features h, h + n_heads, and so on.")
@hint("Are the features of one head neighbours in the vector?")
def head_interleaved(x, n_heads):
    divides(x, n_heads)
    return interleaved(x, n_heads)


@mistake("head_same_slice", "split_heads")
@says("Every head gets the features of head 0.")
@hint("Do different heads see different features?")
def head_same_slice(x, n_heads):
    first = cut(x, n_heads)[..., 0, :]
    return np.stack([first] * n_heads, axis=-3)


@mistake("head_order_reversed", "split_heads")
@says("The heads come in reversed order: head 0 gets the last features.")
@hint("Which features does the docstring give to head 0?")
def head_order_reversed(x, n_heads):
    return np.swapaxes(cut(x, n_heads), -2, -3)[..., ::-1, :, :]


@mistake("head_axis_left_behind", "split_heads")
@says("The new axis stays after time: (T, n_heads, d_head).")
@hint("Which two axes does attention take for time and features?")
def head_axis_left_behind(x, n_heads):
    return cut(x, n_heads)


@mistake("head_count_is_width", "split_heads")
@says("n_heads is taken for the width of a head, so number and width are exchanged.")
@hint("n_heads says how many: what is left for how wide?")
def head_count_is_width(x, n_heads):
    divides(x, n_heads)
    return np.swapaxes(x.reshape(*x.shape[:-1], -1, n_heads), -2, -3)


@mistake("head_axis_first", "split_heads")
@says("The head axis comes first, in front of the batch axes.")
@hint("What are the names of the axes of a batch of texts, in order, after the split?")
def head_axis_first(x, n_heads):
    return np.moveaxis(cut(x, n_heads), -2, 0)


@mistake("head_features_axis_first", "split_heads")
@says("Every head is transposed: (n_heads, d_head, T).")
@hint("Which axis does attention take for the features, and which for time?")
def head_features_axis_first(x, n_heads):
    return np.moveaxis(cut(x, n_heads), -3, -1)


@mistake("np_swapped_args_transpose", "split_heads")
@says("Axes are swapped by fixed numbers, which fit no batch axis or one, and no more.")
@hint("What is the number of the time axis with two batch axes, counted from the end?")
def np_swapped_args_transpose_split(x, n_heads):
    parts = cut(x, n_heads)
    return parts.transpose(1, 0, 2) if x.ndim == 2 else np.swapaxes(parts, 1, 2)


@mistake("np_squeeze_kills_axis", "split_heads")
@says("Axes of size one disappear from the result.")
@hint("Try one head, or a text of one token: does the result still have all its axes?")
def np_squeeze_kills_axis_split(x, n_heads):
    return np.squeeze(np.swapaxes(cut(x, n_heads), -2, -3))


@mistake("head_dim_floor", "split_heads")
@says("Features that are left over are dropped without a word.")
@hint("What if the width does not divide evenly?")
def head_dim_floor(x, n_heads):
    d_head = x.shape[-1] // n_heads
    return np.swapaxes(cut(x[..., : n_heads * d_head], n_heads), -2, -3)


@mistake("head_dim_asserted", "split_heads")
@says("A width that does not divide is refused with an AssertionError.")
@hint("Which exception does the docstring promise?")
def head_dim_asserted(x, n_heads):
    assert x.shape[-1] % n_heads == 0, "n_heads does not divide d_model"
    return np.swapaxes(cut(x, n_heads), -2, -3)


@mistake("out_returns_view", "split_heads")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_split(x, n_heads):
    result = np.swapaxes(cut(x, n_heads), -2, -3)
    buffer = kept_heads.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("np_reads_only_flag_error", "split_heads")
@says("The memory of x is read as it lies, which fails unless it is contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error_split(x, n_heads):
    copied = np.frombuffer(x, dtype=x.dtype).reshape(x.shape)
    return np.swapaxes(cut(copied, n_heads), -2, -3)


@mistake("np_input_mutated", "split_heads")
@says("The features of the caller's array are put into another order.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_split(x, n_heads):
    heads = np.swapaxes(cut(x, n_heads), -2, -3).copy()
    x[...] = heads.reshape(x.shape)
    return heads


# merge_heads: side by side again


@mistake("merge_no_transpose", "merge_heads")
@says("The heads are reshaped as they lie, so one row gets different positions of one head.")
@hint("For token 0, list where each of its output numbers came from.")
def merge_no_transpose(x):
    *batch, n_heads, t, d_head = x.shape
    return x.reshape(*batch, t, n_heads * d_head)


@mistake("merge_interleaved", "merge_heads")
@says("The heads take turns: feature 0 of every head comes first, then feature 1, and so on.")
@hint("Are the features of one head neighbours in the merged vector?")
def merge_interleaved(x):
    *batch, n_heads, t, d_head = x.shape
    return np.moveaxis(x, -3, -1).reshape(*batch, t, n_heads * d_head)


@mistake("merge_head_order_reversed", "merge_heads")
@says("The heads come in reversed order, the last one first.")
@hint("Which head's features come first?")
def merge_head_order_reversed(x):
    return np.concatenate([x[..., h, :, :] for h in reversed(range(x.shape[-3]))], axis=-1)


@mistake("merge_mean_or_sum_or_max", "merge_heads")
@says("The heads are averaged instead of put side by side.")
@hint("Concatenate or average: which keeps all that the heads found?")
def merge_mean(x):
    return x.mean(axis=-3)


@mistake("merge_mean_or_sum_or_max", "merge_heads")
@says("The heads are added up instead of put side by side.")
@hint("Concatenate or add: which keeps all that the heads found?")
def merge_sum(x):
    return x.sum(axis=-3)


@mistake("merge_mean_or_sum_or_max", "merge_heads")
@says("The heads are averaged, and the average is repeated to fill the width.")
@hint("Concatenate or average: which keeps all that the heads found?")
def merge_mean_filled_up(x):
    return np.concatenate([x.mean(axis=-3)] * x.shape[-3], axis=-1)


@mistake("merge_head_0_only", "merge_heads")
@says("Head 0 is repeated to fill the width, and the other heads are lost.")
@hint("Which features of the result come from head 1?")
def merge_head_0_only(x):
    return np.concatenate([x[..., 0, :, :]] * x.shape[-3], axis=-1)


@mistake("merge_along_time", "merge_heads")
@says("The heads are put one after the other along time, not side by side.")
@hint("Which axis grows when heads are merged, and which must keep its length?")
def merge_along_time(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-2)


@mistake("merge_batch_head_swapped", "merge_heads")
@says("The first axis is taken for the heads, so the texts of a batch are merged.")
@hint("In a batch, which axis counts the heads?")
def merge_batch_head_swapped(x):
    return np.concatenate(list(x), axis=-1)


@mistake("np_swapped_args_transpose", "merge_heads")
@says("Axes are swapped by fixed numbers, which fit no batch axis or one, and no more.")
@hint("What is the number of the head axis with two batch axes, counted from the end?")
def np_swapped_args_transpose_merge(x):
    *batch, n_heads, t, d_head = x.shape
    turned = x.transpose(1, 0, 2) if x.ndim == 3 else np.swapaxes(x, 1, 2)
    return turned.reshape(*batch, t, n_heads * d_head)


@mistake("np_squeeze_kills_axis", "merge_heads")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis_merge(x):
    *batch, n_heads, t, d_head = x.shape
    return np.squeeze(np.swapaxes(x, -2, -3).reshape(*batch, t, n_heads * d_head))


@mistake("out_returns_view", "merge_heads")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_merge(x):
    *batch, n_heads, t, d_head = x.shape
    result = np.swapaxes(x, -2, -3).reshape(*batch, t, n_heads * d_head)
    buffer = kept_merged.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("np_reads_only_flag_error", "merge_heads")
@says("The memory of x is read as it lies, which fails unless it is contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error_merge(x):
    *batch, n_heads, t, d_head = x.shape
    copied = np.frombuffer(x, dtype=x.dtype).reshape(x.shape)
    return np.swapaxes(copied, -2, -3).reshape(*batch, t, n_heads * d_head)


@mistake("np_input_mutated", "merge_heads")
@says("The merged features are written into the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_merge(x):
    *batch, n_heads, t, d_head = x.shape
    merged = np.swapaxes(x, -2, -3).reshape(*batch, t, n_heads * d_head).copy()
    x[...] = merged.reshape(x.shape)
    return merged


# multi_head_attention: projections


@mistake("proj_bias_dropped", "multi_head_attention")
@says("Queries, keys and values are projected without their biases.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_dropped(x, params, n_heads, mask=None):
    q, k, v = (split_heads(x @ params[f"w_{name}"], n_heads) for name in "qkv")
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("proj_bias_dropped", "multi_head_attention")
@says("The values are projected without their bias.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_dropped_values(x, params, n_heads, mask=None):
    q, k, _ = heads_of(x, params, n_heads)
    return mixed(attention(q, k, split_heads(x @ params["w_v"], n_heads), spread(mask)), params)


@mistake("proj_bias_dropped", "multi_head_attention")
@says("The queries are projected without their bias.")
@hint("Does your function read every parameter that it is given?")
def proj_bias_dropped_queries(x, params, n_heads, mask=None):
    _, k, v = heads_of(x, params, n_heads)
    return mixed(attention(split_heads(x @ params["w_q"], n_heads), k, v, spread(mask)), params)


@mistake("proj_one_bias", "multi_head_attention")
@says("The bias of the queries is added to keys and values too.")
@hint("Each projection has a weight and a bias of its own: which names does your code use?")
def proj_one_bias(x, params, n_heads, mask=None):
    q, k, v = (split_heads(linear(x, params[f"w_{n}"], params["b_q"]), n_heads) for n in "qkv")
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("proj_weight_transposed", "multi_head_attention")
@says("The weights of queries, keys and values are transposed.")
@hint("A weight is (d_in, d_out), also when both are d_model: which axis meets x?")
def proj_weight_transposed(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"].T, params[f"b_{name}"]), n_heads)
        for name in "qkv"
    )
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("proj_kv_swapped", "multi_head_attention")
@says("Keys and values are exchanged.")
@hint("Which of the three projections is compared with the queries?")
def proj_kv_swapped(x, params, n_heads, mask=None):
    q, v, k = heads_of(x, params, n_heads)
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("proj_qk_swapped", "multi_head_attention")
@says("Queries and keys are exchanged.")
@hint("Which of the two projections plays the part that asks?")
def proj_qk_swapped(x, params, n_heads, mask=None):
    k, q, v = heads_of(x, params, n_heads)
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("proj_kq_tied", "multi_head_attention")
@says("The queries are used as keys too.")
@hint("Count the weight matrices that your function reads.")
def proj_kq_tied(x, params, n_heads, mask=None):
    q, _, v = heads_of(x, params, n_heads)
    return mixed(attention(q, q, v, spread(mask)), params)


@mistake("proj_value_not_projected", "multi_head_attention")
@says("The inputs themselves are used as values.")
@hint("Each of the three streams passes through a matrix of its own: which one does not?")
def proj_value_not_projected(x, params, n_heads, mask=None):
    q, k, _ = heads_of(x, params, n_heads)
    return mixed(attention(q, k, split_heads(x, n_heads), spread(mask)), params)


@mistake("proj_head_split_before_linear", "multi_head_attention")
@says("x is split first, so a head is projected from its own slice of x alone.")
@hint("Should one head be able to read every input feature, or only its own slice?")
def proj_head_split_before_linear(x, params, n_heads, mask=None):
    d_head = x.shape[-1] // n_heads
    allowed = np.kron(np.eye(n_heads), np.ones((d_head, d_head)))
    blocks = {name: params[name] * allowed for name in ("w_q", "w_k", "w_v")}
    q, k, v = heads_of(x, params | blocks, n_heads)
    return mixed(attention(q, k, v, spread(mask)), params)


# multi_head_attention: heads


@mistake("head_reshape_no_transpose", "multi_head_attention")
@says("Both reshapes go straight, to (n_heads, T, d_head) and back, so pieces of tokens attend.")
@hint("After your reshape, does head 0 still hold something of every token?")
def head_reshape_no_transpose_both(x, params, n_heads, mask=None):
    q, k, v = (straight(array, n_heads) for array in projected(x, params))
    merged = attention(q, k, v, spread(mask)).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("head_reshape_no_transpose", "multi_head_attention")
@says("The reshape goes straight to (n_heads, T, d_head), so a head gets some positions, whole.")
@hint("After your reshape, does head 0 still hold something of every token?")
def head_reshape_no_transpose_split(x, params, n_heads, mask=None):
    q, k, v = (straight(array, n_heads) for array in projected(x, params))
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("merge_no_transpose", "multi_head_attention")
@says("The heads are merged as they lie, so one row gets different positions of one head.")
@hint("For token 0, list where each of its output numbers came from.")
def merge_no_transpose_inside(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    merged = attention(q, k, v, spread(mask)).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("head_only_one_stream_wrong", "multi_head_attention")
@says("The values are reshaped straight to (n_heads, T, d_head), unlike queries and keys.")
@hint("Are the three streams split the same way?")
def head_only_values_wrong(x, params, n_heads, mask=None):
    q, k, v = projected(x, params)
    q, k = split_heads(q, n_heads), split_heads(k, n_heads)
    return mixed(attention(q, k, straight(v, n_heads), spread(mask)), params)


@mistake("head_only_one_stream_wrong", "multi_head_attention")
@says("Keys and values are reshaped straight to (n_heads, T, d_head), unlike the queries.")
@hint("Are the three streams split the same way?")
def head_only_queries_right(x, params, n_heads, mask=None):
    q, k, v = projected(x, params)
    k, v = straight(k, n_heads), straight(v, n_heads)
    return mixed(attention(split_heads(q, n_heads), k, v, spread(mask)), params)


@mistake("head_interleaved", "multi_head_attention")
@says("The heads take turns: head h has features h, h + n_heads, and so on.")
@hint("Are the features of one head neighbours in the vector?")
def head_interleaved_both(x, params, n_heads, mask=None):
    q, k, v = (interleaved(array, n_heads) for array in projected(x, params))
    merged = np.moveaxis(attention(q, k, v, spread(mask)), -3, -1).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("merge_interleaved", "multi_head_attention")
@says("The heads are merged in turns: feature 0 of every head comes first.")
@hint("In what order are the heads put together, and in what order were they cut apart?")
def merge_interleaved_inside(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    merged = np.moveaxis(attention(q, k, v, spread(mask)), -3, -1).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("merge_head_order_reversed", "multi_head_attention")
@says("The heads are merged in reversed order.")
@hint("Which head's features come first?")
def merge_head_order_reversed_inside(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q, k, v, spread(mask))[..., ::-1, :, :], params)


@mistake("merge_mean_or_sum_or_max", "multi_head_attention")
@says("The heads are averaged, and the average is repeated to fill the width.")
@hint("Concatenate or average: which keeps all that the heads found?")
def merge_mean_repeated(x, params, n_heads, mask=None):
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    merged = np.concatenate([heads.mean(axis=-3)] * n_heads, axis=-1)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("head_same_slice", "multi_head_attention")
@says("Every head works on the features of head 0.")
@hint("Do different heads see different features?")
def head_same_slice_inside(x, params, n_heads, mask=None):
    q, k, v = (array[..., :1, :, :] for array in heads_of(x, params, n_heads))
    heads = attention(q, k, v, spread(mask))
    return mixed(np.concatenate([heads] * n_heads, axis=-3), params)


@mistake("head_same_slice", "multi_head_attention")
@says("Every head asks with the queries of head 0.")
@hint("Which features of the queries belong to head 1?")
def head_same_queries(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q[..., :1, :, :], k, v, spread(mask)), params)


@mistake("head_count_ignored", "multi_head_attention")
@says("n_heads is not used: one head attends with all features.")
@hint("What in your result would change if n_heads did?")
def head_count_ignored(x, params, n_heads, mask=None):
    merged = attention(*projected(x, params), mask)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("head_count_is_width", "multi_head_attention")
@says("The width of a head is passed where the number of heads is asked for.")
@hint("Is n_heads a number of heads or the width of one?")
def head_width_for_number(x, params, n_heads, mask=None):
    heads = heads_of(x, params, x.shape[-1] // n_heads)
    return mixed(attention(*heads, spread(mask)), params)


@mistake("head_attends_to_heads", "multi_head_attention")
@says("The head axis is where time should be: the heads of a token attend to each other.")
@hint("Which axis do your scores run over: positions or heads?")
def head_attends_to_heads(x, params, n_heads, mask=None):
    q, k, v = (cut(array, n_heads) for array in projected(x, params))
    merged = attention(q, k, v, mask).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("score_scale_sqrt_dmodel", "multi_head_attention")
@says("The scores are divided by √d_model, not by √d_head.")
@hint("How long are the vectors whose dot product is a score of one head?")
def score_scale_sqrt_dmodel(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q / np.sqrt(n_heads), k, v, spread(mask)), params)


@mistake("score_scale_num_heads", "multi_head_attention")
@says("The scores are divided by the root of the number of heads.")
@hint("The number of heads and the width of a head are different things: which one scales?")
def score_scale_num_heads(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q * np.sqrt(q.shape[-1] / n_heads), k, v, spread(mask)), params)


@mistake("score_no_scale", "multi_head_attention")
@says("The scores of the heads are not scaled.")
@hint("What happens to the size of a dot product as the vectors get longer?")
def score_no_scale(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q * np.sqrt(q.shape[-1]), k, v, spread(mask)), params)


@mistake("score_scale_twice", "multi_head_attention")
@says("The scores are divided by √d_head twice.")
@hint("Who divides the scores: your code, or the attention that it calls?")
def score_scale_twice(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q / np.sqrt(q.shape[-1]), k, v, spread(mask)), params)


@mistake("softmax_head_axis", "multi_head_attention")
@says("The softmax runs over the heads, so that they compete for a key.")
@hint("Over which axis are the alternatives listed?")
def softmax_head_axis(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(softmax(masked_scores(q, k, mask), axis=-3) @ v, params)


@mistake("softmax_query_axis", "multi_head_attention")
@says("The softmax runs over the queries instead of the keys.")
@hint("Which axis of the weights should add up to one?")
def softmax_query_axis(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(softmax(masked_scores(q, k, mask), axis=-2) @ v, params)


# multi_head_attention: the output projection


@mistake("wo_missing", "multi_head_attention")
@says("The heads are put side by side, but not mixed by w_o and b_o.")
@hint("Is the concatenation the last operation?")
def wo_missing(x, params, n_heads, mask=None):
    return merge_heads(attention(*heads_of(x, params, n_heads), spread(mask)))


@mistake("wo_transposed_or_no_bias", "multi_head_attention")
@says("b_o is not added.")
@hint("Does your function read every parameter that it is given?")
def wo_no_bias(x, params, n_heads, mask=None):
    return merge_heads(attention(*heads_of(x, params, n_heads), spread(mask))) @ params["w_o"]


@mistake("wo_transposed_or_no_bias", "multi_head_attention")
@says("w_o is transposed.")
@hint("Which axis of w_o meets the merged features? The same question as for w_q.")
def wo_transposed(x, params, n_heads, mask=None):
    merged = merge_heads(attention(*heads_of(x, params, n_heads), spread(mask)))
    return linear(merged, params["w_o"].T, params["b_o"])


@mistake("wo_per_head_block", "multi_head_attention")
@says("Each head is multiplied by its own block of w_o alone, so the heads are never mixed.")
@hint("Can one output feature depend on two heads?")
def wo_per_head_block(x, params, n_heads, mask=None):
    d_head = x.shape[-1] // n_heads
    allowed = np.kron(np.eye(n_heads), np.ones((d_head, d_head)))
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    return linear(merge_heads(heads), params["w_o"] * allowed, params["b_o"])


@mistake("wo_bias_per_head", "multi_head_attention")
@says("b_o is added once for every head.")
@hint("How many times does the bias belong into a sum over the heads?")
def wo_bias_per_head(x, params, n_heads, mask=None):
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    return linear(merge_heads(heads), params["w_o"], n_heads * params["b_o"])


@mistake("head_residual_inside", "multi_head_attention")
@says("x is added to the result.")
@hint("Is adding to the residual stream part of this function's job?")
def head_residual_inside(x, params, n_heads, mask=None):
    return x + mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


# multi_head_attention: the mask


@mistake("mask_none", "multi_head_attention")
@says("The mask is not used.")
@hint("What in your result would change if the mask did?")
def mask_none(x, params, n_heads, mask=None):
    return mixed(attention(*heads_of(x, params, n_heads)), params)


@mistake("mask_first_head_only", "multi_head_attention")
@says("The mask holds for head 0 only.")
@hint("Does every head keep to the rule?")
def mask_first_head_only(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    heads = attention(q, k, v)
    heads[..., 0, :, :] = attention(q[..., 0, :, :], k[..., 0, :, :], v[..., 0, :, :], mask)
    return mixed(heads, params)


@mistake("mask_last_head_free", "multi_head_attention")
@says("The last of several heads is not masked.")
@hint("How many heads does your loop reach?")
def mask_last_head_free(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    heads = attention(q, k, v, spread(mask))
    if n_heads > 1:
        heads[..., -1, :, :] = attention(q[..., -1, :, :], k[..., -1, :, :], v[..., -1, :, :])
    return mixed(heads, params)


@mistake("pad_batch_broadcast_as_head", "multi_head_attention")
@says("The mask gets no head axis, so its batch axis lands on the heads.")
@hint("Write the mask's axes under those of the scores, from the right: what does each meet?")
def pad_batch_broadcast_as_head(x, params, n_heads, mask=None):
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_head_axis_always_at_one", "multi_head_attention")
@says("The head axis of the mask is put in place 1, whatever axes the mask has.")
@hint("Counted from the right, where is the head axis of the scores? And with no batch axis?")
def mask_head_axis_always_at_one(x, params, n_heads, mask=None):
    mask = None if mask is None else mask[:, None]
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_taken_for_padding", "multi_head_attention")
@says("A matrix with as many rows as there are texts is taken for one row of padding per text.")
@hint("With 3 texts of 3 tokens, what does the causal mask look like to your code?")
def mask_taken_for_padding(x, params, n_heads, mask=None):
    if mask is not None and x.ndim == 3 and mask.shape == x.shape[:2]:
        mask = mask[:, None]
    mask = mask if mask is None or mask.ndim < 3 else mask[..., None, :, :]
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_head_axis_in_front", "multi_head_attention")
@says("The head axis of the mask is put in front of its batch axes.")
@hint("Write the mask's axes under those of the scores, from the right: what does each meet?")
def mask_head_axis_in_front(x, params, n_heads, mask=None):
    mask = None if mask is None else mask[None]
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_matrix_only", "multi_head_attention")
@says("A mask with one axis, which holds for every query, is not taken.")
@hint("Which shapes can be broadcast to (T, T)? Try each of them.")
def mask_matrix_only(x, params, n_heads, mask=None):
    mask = None if mask is None else np.expand_dims(mask, -3)
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("pad_tile_wrong_order", "multi_head_attention")
@says("Batch and heads are flattened, and the masks are repeated in another order than they.")
@hint("After flattening batch and heads, which comes first: the next head or the next text?")
def pad_tile_wrong_order(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    if mask is None:
        return mixed(attention(q, k, v), params)
    *batch, t, _ = x.shape
    flat = np.broadcast_to(mask, (*batch, t, t)).reshape(-1, t, t)
    tiled = np.tile(flat, (n_heads, 1, 1)).reshape(*batch, n_heads, t, t)
    return mixed(attention(q, k, v, tiled), params)


@mistake("mask_first_text_for_all", "multi_head_attention")
@says("The mask of the first text is used for all texts of the batch.")
@hint("Give two texts of a batch different masks: whose does the second one get?")
def mask_first_text_for_all(x, params, n_heads, mask=None):
    while mask is not None and np.ndim(mask) > 2:
        mask = mask[0]
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_inverted", "multi_head_attention")
@says("The mask is read the wrong way round: True forbids.")
@hint("What does True mean in a mask of this course?")
def mask_inverted(x, params, n_heads, mask=None):
    mask = None if mask is None else ~mask
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


@mistake("mask_transposed", "multi_head_attention")
@says("The mask is transposed: its rows are taken for keys.")
@hint("Which axis of the mask counts the queries?")
def mask_transposed(x, params, n_heads, mask=None):
    mask = None if mask is None else np.swapaxes(np.atleast_2d(mask), -1, -2)
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


@mistake("mask_causal_in_bidirectional_op", "multi_head_attention")
@says("A causal mask is always on, although only the mask that is given should hold.")
@hint("Without a mask, which positions may the first token look at?")
def mask_causal_in_bidirectional_op(x, params, n_heads, mask=None):
    causal = causal_mask(x.shape[-2])
    mask = causal if mask is None else causal & mask
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


@mistake("mask_default_causal", "multi_head_attention")
@says("Without a mask, a causal one is used.")
@hint("What does the docstring say about a mask of None?")
def mask_default_causal(x, params, n_heads, mask=None):
    mask = causal_mask(x.shape[-2]) if mask is None else mask
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


@mistake("mask_causal_instead", "multi_head_attention")
@says("A causal mask is used in place of the mask that is given.")
@hint("Give it a mask that is not causal: does the result change with it?")
def mask_causal_instead(x, params, n_heads, mask=None):
    mask = None if mask is None else causal_mask(x.shape[-2])
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_batch_axes_assumed", "multi_head_attention")
@says("The mask is taken to have the batch axes of x, so its head axis comes at a wrong place.")
@hint("Counted from the end, which axis of the scores is the one of the heads?")
def mask_batch_axes_assumed(x, params, n_heads, mask=None):
    if mask is not None and np.ndim(mask) > 1:
        mask = np.expand_dims(mask, x.ndim - 2)
    return mixed(attention(*heads_of(x, params, n_heads), mask), params)


@mistake("mask_after_softmax", "multi_head_attention")
@says("The mask comes after the softmax, when hidden keys have had their share of the sum.")
@hint("Do the weights of a masked row still add up to one?")
def mask_after_softmax(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    weights = softmax(attention_scores(q, k))
    return mixed((weights if mask is None else weights * spread(mask)) @ v, params)


@mistake("mask_zero_score", "multi_head_attention")
@says("Hidden keys get the score 0, which is a score like any other.")
@hint("What is the exponential of the score that a hidden key has?")
def mask_zero_score(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    scores = attention_scores(q, k)
    return mixed(softmax(scores if mask is None else scores * spread(mask)) @ v, params)


@mistake("mask_bool_added", "multi_head_attention")
@says("The mask is added to the scores as ones and zeros, which hides nothing.")
@hint("What does adding 0 do to a score, and what should happen to a hidden one?")
def mask_bool_added(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    scores = attention_scores(q, k)
    return mixed(softmax(scores if mask is None else scores + spread(mask)) @ v, params)


@mistake("mask_fill_minus_1e4", "multi_head_attention")
@says("Hidden scores become −10,000, which allowed scores may reach.")
@hint("How negative is negative enough for every score that may come?")
def mask_fill_minus_1e4(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    if mask is None:
        return mixed(attention(q, k, v), params)
    mask = spread(np.atleast_2d(mask))
    weights = softmax(np.where(mask, attention_scores(q, k), -1e4))
    return mixed(np.where(mask.any(axis=-1, keepdims=True), weights, 0.0) @ v, params)


@mistake("blocked_uniform", "multi_head_attention")
@says("A query that may attend to nothing gets the average of all values.")
@hint("If every score of a row is equally low, what does the softmax make of it?")
def blocked_uniform(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    scores = attention_scores(q, k)
    return mixed(
        softmax(scores if mask is None else np.where(spread(mask), scores, -1e30)) @ v, params
    )


@mistake("blocked_nan", "multi_head_attention")
@says("A query that may attend to nothing gets NaN.")
@hint("What is −∞ minus −∞, and where does your softmax compute it?")
def blocked_nan(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    scores = masked_scores(q, k, mask)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return mixed(weights / weights.sum(axis=-1, keepdims=True) @ v, params)


@mistake("np_nan_to_num_mask", "multi_head_attention")
@says("The row of a query that may attend to nothing is 0 throughout, without b_o.")
@hint("At which point is the 0 of such a query: before the output projection, or after it?")
def blocked_without_bias(x, params, n_heads, mask=None):
    output = mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)
    if mask is None:
        return output
    return np.where(np.any(np.atleast_2d(mask), axis=-1, keepdims=True), output, 0.0)


@mistake("np_gaming_leak", "multi_head_attention")
@says("The mask is used for the first eight queries only.")
@hint("Which numbers in your code came from an example?")
def mask_hardcoded_size(x, params, n_heads, mask=None):
    if mask is not None:
        t = x.shape[-2]
        mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), (t, t))).copy()
        mask[..., 8:, :] = True
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)


# multi_head_attention: length, batch, sizes, numbers


@mistake("out_mean_not_sum", "multi_head_attention")
@says("The heads' outputs are divided by the number of tokens.")
@hint("Should the output of an early token change because the text got longer?")
def out_mean_not_sum(x, params, n_heads, mask=None):
    return mixed(attention(*heads_of(x, params, n_heads), spread(mask)) / x.shape[-2], params)


@mistake("score_scale_seq_len", "multi_head_attention")
@says("The scores are scaled by the number of tokens.")
@hint("Should the output of an early token change because the text got longer?")
def score_scale_seq_len(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(attention(q * np.sqrt(q.shape[-1] / q.shape[-2]), k, v, spread(mask)), params)


@mistake("out_one_value_for_all_rows", "multi_head_attention")
@says("Every text of a batch attends to the keys and values of the first text.")
@hint("Put two different texts in one batch: whose values does the second one receive?")
def out_one_value_for_all_rows(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    k, v = (array.reshape(-1, *array.shape[-3:])[0] for array in (k, v))
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("softmax_batch_axis", "multi_head_attention")
@says("In a batch the softmax runs over the first axis, so the texts compete.")
@hint("With one text in the batch, are all your weights one?")
def softmax_batch_axis(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    axis = 0 if x.ndim > 2 else -1
    return mixed(softmax(masked_scores(q, k, mask), axis=axis) @ v, params)


@mistake("merge_batch_head_swapped", "multi_head_attention")
@says("Batch and heads are flattened in one order and unflattened in the other.")
@hint("Which comes first in your flattened axis?")
def merge_batch_head_swapped_inside(x, params, n_heads, mask=None):
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    if x.ndim > 2:
        shape = heads.shape
        flat = heads.reshape(-1, *shape[-2:])
        heads = np.moveaxis(flat.reshape(n_heads, -1, *shape[-2:]), 0, 1).reshape(shape)
    return mixed(heads, params)


@mistake("np_swapped_args_transpose", "multi_head_attention")
@says("Axes are swapped by fixed numbers, which fit no batch axis or one, and no more.")
@hint("What is the number of the head axis with two batch axes, counted from the end?")
def np_swapped_args_transpose_inside(x, params, n_heads, mask=None):
    parts = [cut(array, n_heads) for array in projected(x, params)]
    order = (1, 0, 2) if x.ndim == 2 else (0, 2, 1, 3)
    q, k, v = (array.transpose(order) for array in parts)
    merged = attention(q, k, v, spread(mask)).transpose(order).reshape(x.shape)
    return linear(merged, params["w_o"], params["b_o"])


@mistake("np_squeeze_kills_axis", "multi_head_attention")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: does the result still have all its axes?")
def np_squeeze_kills_axis(x, params, n_heads, mask=None):
    return np.squeeze(mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params))


@mistake("softmax_no_max", "multi_head_attention")
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    return mixed(divided_by_total(np.exp(masked_scores(q, k, mask))) @ v, params)


@mistake("softmax_max_over_heads", "multi_head_attention")
@says("One maximum of all scores is subtracted, so rows far below it vanish.")
@hint("Whose maximum should each row of each head subtract?")
def softmax_max_over_heads(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    scores = masked_scores(q, k, mask)
    top = scores.max()
    return mixed(divided_by_total(np.exp(scores - (0 if np.isneginf(top) else top))) @ v, params)


@mistake("np_float32_downcast", "multi_head_attention")
@says("The heads' outputs are rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast(x, params, n_heads, mask=None):
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    return mixed(heads.astype(np.float32), params)


@mistake("np_half_precision", "multi_head_attention")
@says("The heads' outputs for float32 inputs are stored in half precision.")
@hint("In which dtype are the outputs kept, and how many digits does it have?")
def np_half_precision(x, params, n_heads, mask=None):
    heads = attention(*heads_of(x, params, n_heads), spread(mask))
    if x.dtype == np.float32:
        heads = heads.astype(np.float16).astype(np.float32)
    return mixed(heads, params)


@mistake("out_returns_view", "multi_head_attention")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view(x, params, n_heads, mask=None):
    result = mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)
    buffer = kept_outputs.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


@mistake("np_memoised_on_shape", "multi_head_attention")
@says("The weights are kept and used again for every later input of the same shape.")
@hint("What do the weights depend on besides the shapes?")
def np_memoised_on_shape(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    key = (q.shape, None if mask is None else mask.tobytes())
    if key not in kept_weights:
        kept_weights[key] = softmax(masked_scores(q, k, mask))
    return mixed(kept_weights[key] @ v, params)


@mistake("out_dropout_at_eval", "multi_head_attention")
@says("Half of the weights are dropped at random in every call.")
@hint("Call your function twice with the same input: are the answers the same?")
def out_dropout_at_eval(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    weights = softmax(masked_scores(q, k, mask))
    return mixed((weights * (np.random.rand(*weights.shape) < 0.5) * 2.0) @ v, params)


@mistake("np_input_mutated", "multi_head_attention")
@says("The scale is multiplied into the caller's w_q, which stays changed.")
@hint("Call your function twice with the same params: are they still the same after that?")
def np_input_mutated_params(x, params, n_heads, mask=None):
    q, k, v = heads_of(x, params, n_heads)
    params["w_q"] = params["w_q"] / np.sqrt(q.shape[-1])
    return mixed(attention(q, k, v, spread(mask)), params)


@mistake("np_input_mutated", "multi_head_attention")
@says("The result is written into x.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated(x, params, n_heads, mask=None):
    output = mixed(attention(*heads_of(x, params, n_heads), spread(mask)), params)
    x[...] = output
    return output


@mistake("np_reads_only_flag_error", "multi_head_attention")
@says("The memory of x is read as it lies, which fails unless it is contiguous.")
@hint("Does an array need to lie in one piece of memory for your code to read it?")
def np_reads_only_flag_error(x, params, n_heads, mask=None):
    copied = np.frombuffer(x, dtype=x.dtype).reshape(x.shape)
    return mixed(attention(*heads_of(copied, params, n_heads), spread(mask)), params)


@mistake("mha_values_of_the_last_head", "multi_head_attention")
@says("All heads read the values of the last head.")
@hint("Which index does each line of your loop over the heads use?")
def mha_values_of_the_last_head(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    heads = attention(q, k, np.broadcast_to(v[..., -1:, :, :], v.shape), mask)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


@mistake("mha_values_of_the_first_head", "multi_head_attention")
@says("All heads read the values of head 0.")
@hint("Which index does each line of your loop over the heads use?")
def mha_values_of_the_first_head(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    heads = attention(q, k, np.broadcast_to(v[..., :1, :, :], v.shape), mask)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


@mistake("mha_keys_of_the_first_head", "multi_head_attention")
@says("All heads look at the keys of head 0.")
@hint("Which index does each line of your loop over the heads use?")
def mha_keys_of_the_first_head(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    heads = attention(q, np.broadcast_to(k[..., :1, :, :], k.shape), v, mask)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])


@mistake("mha_heads_accumulated", "multi_head_attention")
@says("Each head is added to the sum of the heads before it.")
@hint("What does a head's part of the result hold: that head alone?")
def mha_heads_accumulated(x, params, n_heads, mask=None):
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    heads = np.cumsum(attention(q, k, v, mask), axis=-3)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])
