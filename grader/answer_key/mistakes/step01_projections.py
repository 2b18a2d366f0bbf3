"""Known wrong versions of step 1, each with one mistake."""

import numpy as np

from grader.answer_key.variants import hint, mistake, says

mapped_before = {}
projected_before = {}
projection_buffers = {}
keys_so_far = []


def into_buffer(name, x, weight):
    """Return x @ weight in an array that every call with this name and shape shares."""
    shape = (*x.shape[:-1], weight.shape[-1])
    return np.matmul(x, weight, out=projection_buffers.setdefault((name, shape), np.empty(shape)))


# linear: the product


@mistake("proj_last_feature_missing", "linear")
@says("The last feature of x has no influence on the result.")
@hint("How many features does the sum run over, and is the last of them among them?")
def proj_last_feature_missing(x, weight, bias=None):
    y = x[..., :-1] @ weight[:-1]
    return y if bias is None else y + bias


@mistake("proj_weight_transposed", "linear")
@says("The weight matrix is transposed before it is applied.")
@hint("Which axis of the weight has the length of one input vector?")
def proj_weight_transposed(x, weight, bias=None):
    y = x @ weight.T
    return y if bias is None else y + bias


@mistake("proj_contract_wrong_axis", "linear")
@says("The product sums over the first axis of the input instead of over its features.")
@hint("Name the axis of the input that disappears in the product.")
def proj_contract_wrong_axis(x, weight, bias=None):
    y = np.tensordot(x, weight, axes=(0, 0))
    return y if bias is None else y + bias


@mistake("proj_T_reverses_all_axes", "linear")
@says("`.T` is applied to the input, which on a batch reverses all of its axes.")
@hint("Print the shape of the transpose of an array with three axes.")
def proj_T_reverses_all_axes(x, weight, bias=None):
    y = np.dot(weight.T, x.T).T
    return y if bias is None else y + bias


@mistake("proj_batch_flattened", "linear")
@says("The batch is flattened into one long list of vectors and never gets its axes back.")
@hint("Compare the leading axes of your result with those of the input.")
def proj_batch_flattened(x, weight, bias=None):
    y = x.reshape(-1, x.shape[-1]) @ weight
    return y if bias is None else y + bias


@mistake("proj_batch_time_reshape", "linear")
@says("A reshape is used where axes should be swapped back, so sequences are interleaved.")
@hint("A reshape keeps the order in memory: which token is at place [0, 1] afterwards?")
def proj_batch_time_reshape(x, weight, bias=None):
    time_first = np.swapaxes(x, 0, -2) if x.ndim > 2 else x
    y = (time_first @ weight).reshape(*x.shape[:-1], weight.shape[-1])
    return y if bias is None else y + bias


@mistake("proj_batch_axis_dropped", "linear")
@says("Only an x with exactly two axes is accepted.")
@hint("Try your function on two sequences stacked into one array, and on one token alone.")
def proj_batch_axis_dropped(x, weight, bias=None):
    y = np.einsum("td,de->te", x, weight)
    return y if bias is None else y + bias


@mistake("proj_batch_axis_required", "linear")
@says("The input must have exactly one batch axis.")
@hint("The contract allows any number of leading axes: what about none?")
def proj_batch_axis_required(x, weight, bias=None):
    n_batch, n_time, d_in = x.shape
    y = (x.reshape(n_batch * n_time, d_in) @ weight).reshape(n_batch, n_time, -1)
    return y if bias is None else y + bias


@mistake("proj_batch_axis_required", "linear")
@says("An einsum names batch axes, which x need not have.")
@hint("In einsum, `...` stands for any number of axes, none included.")
def proj_einsum_with_batch(x, weight, bias=None):
    y = np.einsum("btd,de->bte", x, weight)
    return y if bias is None else y + bias


@mistake("proj_activation_on_qkv", "linear")
@says("A ReLU is applied to the result, so that nothing negative is left.")
@hint("Is there any non-linearity in a linear projection?")
def proj_activation_relu(x, weight, bias=None):
    y = x @ weight
    return np.maximum(y if bias is None else y + bias, 0.0)


@mistake("np_symmetric_shapes_only", "linear")
@says("The result is forced into the shape of the input, which fits square weights only.")
@hint("How many features does a vector have before the projection, and how many after it?")
def proj_keeps_input_shape(x, weight, bias=None):
    y = np.empty(x.shape)
    y[...] = x @ weight
    return y if bias is None else y + bias


@mistake("np_hardcoded_size", "linear")
@says("The number of input features is fixed at 512.")
@hint("Which number in your code came from the paper and not from the arguments?")
def proj_hardcoded_512(x, weight, bias=None):
    y = (x.reshape(-1, 512) @ weight).reshape(*x.shape[:-1], weight.shape[-1])
    return y if bias is None else y + bias


@mistake("np_float32_downcast", "linear")
@says("The product is computed in float32 even where the inputs are float64.")
@hint("How many digits are left after your type conversion?")
def proj_float32_downcast(x, weight, bias=None):
    y = x.astype(np.float32) @ weight.astype(np.float32)
    return y if bias is None else y + bias


@mistake("np_float64_only", "linear")
@says("Inputs in float32 are refused.")
@hint("Which types of numbers does the docstring allow?")
def proj_float64_only(x, weight, bias=None):
    if x.dtype != float:
        raise TypeError("x must hold floats")
    y = x @ weight
    return y if bias is None else y + bias


@mistake("np_squeeze_kills_axis", "linear")
@says("Axes of length 1 vanish from the result.")
@hint("What does your function return for a batch of one sequence?")
def proj_squeeze_kills_axis(x, weight, bias=None):
    y = np.squeeze(x @ weight)
    return y if bias is None else y + bias


@mistake("np_broad_except", "linear")
@says("The weight is transposed wherever its shape allows that, as a square one does.")
@hint("Which way round is a square weight in your code, and how does the code decide that?")
def proj_broad_except(x, weight, bias=None):
    try:
        y = x @ weight.T
    except ValueError:
        y = x @ weight
    return y if bias is None else y + bias


@mistake("np_reads_only_flag_error", "linear")
@says("NaNs are cleaned up inside the caller's array, which fails on a read-only one.")
@hint("Does your function need to write into its arguments?")
def proj_writes_into_x(x, weight, bias=None):
    x[np.isnan(x)] = 0.0
    y = x @ weight
    return y if bias is None else y + bias


@mistake("np_memory_order_assumed", "linear")
@says("The numbers are read in the order of memory, which is not always row by row.")
@hint("What does your code do with a transposed view or an array in Fortran order?")
def proj_memory_order_assumed(x, weight, bias=None):
    rows = x.ravel(order="K").reshape(-1, x.shape[-1])
    y = (rows @ weight).reshape(*x.shape[:-1], weight.shape[-1])
    return y if bias is None else y + bias


@mistake("proj_scaled_to_norm", "linear")
@says("A large input is scaled down as a whole, so one long vector shortens all others.")
@hint("Is what you divide by made from one vector, or from all of them together?")
def proj_scaled_to_norm(x, weight, bias=None):
    y = x / max(1.0, np.linalg.norm(x) / 100.0) @ weight
    return y if bias is None else y + bias


@mistake("np_returns_alias", "linear")
@says("A later call overwrites the array that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def proj_linear_reused_buffer(x, weight, bias=None):
    y = into_buffer("y", x, weight)
    if bias is not None:
        y += bias
    return y


@mistake("np_memoised_on_shape", "linear")
@says("The product of an earlier call is used again for any input of the same shape.")
@hint("What else does a stored answer depend on, besides a shape?")
def proj_linear_memoised_on_shape(x, weight, bias=None):
    shapes = x.shape, weight.shape
    if shapes not in mapped_before:
        mapped_before[shapes] = x @ weight
    return mapped_before[shapes] + (0.0 if bias is None else bias)


@mistake("np_input_mutated", "linear")
@says("The result is written over the caller's input where both have the same shape.")
@hint("Where does your function get the array for its result from?")
def proj_square_weight_overwrites_x(x, weight, bias=None):
    same = x.flags.writeable and weight.shape[0] == weight.shape[1]
    y = np.matmul(x, weight, out=x if same else None)
    return y if bias is None else y + bias


# linear: the bias


@mistake("proj_bias_dropped", "linear")
@says("The bias is ignored.")
@hint("Does your projection use every parameter that it is given?")
def proj_bias_dropped(x, weight, bias=None):
    return x @ weight


@mistake("proj_bias_twice", "linear")
@says("The bias is added twice.")
@hint("Follow the bias through your code and count its uses.")
def proj_bias_twice(x, weight, bias=None):
    y = x @ weight
    return y if bias is None else y + bias + bias


@mistake("proj_bias_before_weight", "linear")
@says("The bias is added to the input, before the weight is applied.")
@hint("Does the bias have the length of an input vector or that of an output vector?")
def proj_bias_before_weight(x, weight, bias=None):
    return x @ weight if bias is None else (x + bias) @ weight


@mistake("proj_bias_truth_value", "linear")
@says("The bias is tested for its truth value, which an array of several numbers lacks.")
@hint("What does NumPy say when you write an array after `if`?")
def proj_bias_truth_value(x, weight, bias=None):
    y = x @ weight
    return y + bias if bias else y


@mistake("proj_bias_on_time_axis", "linear")
@says("The bias runs along the time axis instead of along the features.")
@hint("Should every token of a sequence get the same bias vector, or one number each?")
def proj_bias_on_time_axis(x, weight, bias=None):
    y = x @ weight
    return y if bias is None else y + bias[:, None]


@mistake("np_copy_vs_view_write", "linear")
@says("The bias is added to a temporary copy of the result and gets lost.")
@hint("Did the addition reach the array that you return?")
def proj_copy_vs_view_write(x, weight, bias=None):
    y = x @ weight
    rows = np.arange(len(y))
    if bias is not None:
        y[rows][...] += bias
    return y


# project_qkv: which weight goes where


@mistake("proj_all_same_w", "project_qkv")
@says("v holds k: x times w_k.")
@hint("How often does each of the three weight matrices occur in your code?")
def proj_v_is_k(x, w_q, w_k, w_v):
    k = x @ w_k
    return x @ w_q, k, k.copy()


@mistake("proj_qk_swapped", "project_qkv")
@says("The queries come from w_k and the keys from w_q.")
@hint("Which of the two projections asks, and which of them is asked?")
def proj_qk_swapped(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_q, x @ w_v


@mistake("proj_kv_swapped", "project_qkv")
@says("The keys come from w_v and the values from w_k.")
@hint("One projection decides where to look, another what is copied: which is which?")
def proj_kv_swapped(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_v, x @ w_k


@mistake("proj_order_vkq", "project_qkv")
@says("The results are returned in the order values, keys, queries.")
@hint("In which order does the docstring list the three results?")
def proj_order_vkq(x, w_q, w_k, w_v):
    return x @ w_v, x @ w_k, x @ w_q


@mistake("proj_kq_tied", "project_qkv")
@says("The keys are computed with the weights of the queries.")
@hint("May the query and the key of the same token be different vectors?")
def proj_kq_tied(x, w_q, w_k, w_v):
    q = x @ w_q
    return q, q.copy(), x @ w_v


@mistake("proj_kq_tied", "project_qkv")
@says("The queries are computed with the weights of the keys.")
@hint("How often does each of the three weight matrices occur in your code?")
def proj_kq_tied_to_keys(x, w_q, w_k, w_v):
    k = x @ w_k
    return k.copy(), k, x @ w_v


@mistake("proj_all_same_w", "project_qkv")
@says("Queries, keys and values all come from w_q.")
@hint("Count the different weight matrices that your function reads.")
def proj_all_same_w(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_q


@mistake("proj_value_not_projected", "project_qkv")
@says("The values are the input itself, without a projection.")
@hint("Does each of the three streams pass through a map of its own?")
def proj_value_not_projected(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, np.array(x)


@mistake("proj_value_from_keys", "project_qkv")
@says("The values are computed from the keys instead of from the input.")
@hint("What is the input of each of the three projections?")
def proj_value_from_keys(x, w_q, w_k, w_v):
    k = x @ w_k
    return x @ w_q, k, k @ w_v


@mistake("proj_weight_transposed", "project_qkv")
@says("All three weights are transposed before they are applied.")
@hint("Which axis of a weight has the length of one input vector?")
def proj_weights_transposed(x, w_q, w_k, w_v):
    return x @ w_q.T, x @ w_k.T, x @ w_v.T


@mistake("proj_activation_on_qkv", "project_qkv")
@says("A ReLU is applied to queries and keys.")
@hint("May a query or a key have negative entries?")
def proj_activation_on_qk(x, w_q, w_k, w_v):
    return np.maximum(x @ w_q, 0.0), np.maximum(x @ w_k, 0.0), x @ w_v


@mistake("score_scaled_twice", "project_qkv")
@says("The queries are scaled here already, and the scores will be scaled again.")
@hint("Which step of the lesson owns the scale factor?")
def score_scaled_in_projection(x, w_q, w_k, w_v):
    return x @ w_q / np.sqrt(w_q.shape[-1]), x @ w_k, x @ w_v


@mistake("proj_query_last_only", "project_qkv")
@says("Only the last token of the sequence gets a query.")
@hint("In training, how many positions predict their next token?")
def proj_query_last_only(x, w_q, w_k, w_v):
    return x[..., -1:, :] @ w_q, x @ w_k, x @ w_v


# project_qkv: axes and sizes


@mistake("proj_centred_over_time", "project_qkv")
@says("The mean over time is subtracted from the input, so each token feels all others.")
@hint("Which tokens may the query of token t depend on at this point?")
def proj_centred_over_time(x, w_q, w_k, w_v):
    centred = x - x.mean(axis=-2, keepdims=True)
    return centred @ w_q, centred @ w_k, centred @ w_v


@mistake("proj_key_of_previous_token", "project_qkv")
@says("The keys are shifted by one: token t gets the key of its neighbour.")
@hint("Change one token only: which row of the keys moves?")
def proj_key_of_previous_token(x, w_q, w_k, w_v):
    return x @ w_q, np.roll(x @ w_k, 1, axis=-2), x @ w_v


@mistake("proj_batch_time_reshape", "project_qkv")
@says("The values are reshaped where axes should be swapped back, so sequences mix.")
@hint("Change one sequence of a batch: does another one get new values?")
def proj_values_interleaved(x, w_q, w_k, w_v):
    v = x @ w_v
    if x.ndim > 2:
        v = np.swapaxes(v, 0, -2).reshape(v.shape)
    return x @ w_q, x @ w_k, v


@mistake("proj_batch_axis_dropped", "project_qkv")
@says("Every sequence of a batch gets the results of the first one.")
@hint("Put two different sequences into one batch and compare their queries.")
def proj_first_sequence_for_all(x, w_q, w_k, w_v):
    if x.ndim > 2:
        x = np.broadcast_to(x[:1], x.shape)
    return x @ w_q, x @ w_k, x @ w_v


@mistake("proj_fused_split_in_thirds", "project_qkv")
@says("The three weights are fused and the product is cut into thirds, whatever d_v is.")
@hint("Are queries and values always equally long?")
def proj_fused_split_in_thirds(x, w_q, w_k, w_v):
    fused = x @ np.concatenate((w_q, w_k, w_v), axis=-1)
    return tuple(np.split(fused, 3, axis=-1))


@mistake("np_broad_except", "project_qkv")
@says("When the three weights cannot be stacked, the input is returned three times.")
@hint("What does your function return when the `try` fails, and when does it fail?")
def proj_fallback_to_input(x, w_q, w_k, w_v):
    try:
        q, k, v = (x @ weight for weight in np.array((w_q, w_k, w_v)))
    except ValueError:
        q, k, v = x.copy(), x.copy(), x.copy()
    return q, k, v


@mistake("np_squeeze_kills_axis", "project_qkv")
@says("Axes of length 1 vanish from the three results.")
@hint("What do you return for a sequence of a single token?")
def proj_qkv_squeezed(x, w_q, w_k, w_v):
    return np.squeeze(x @ w_q), np.squeeze(x @ w_k), np.squeeze(x @ w_v)


@mistake("proj_scaled_to_norm", "project_qkv")
@says("Large keys are scaled down by the largest of all, so each key feels the others.")
@hint("Make one token very large: whose keys change?")
def proj_keys_scaled_by_largest(x, w_q, w_k, w_v):
    k = x @ w_k
    return x @ w_q, k / max(1.0, np.abs(k).max() / 100.0), x @ w_v


@mistake("np_float64_only", "project_qkv")
@says("The bytes of the input are read as float64, whatever they are.")
@hint("How many bytes does one number in float32 have?")
def proj_bytes_as_float64(x, w_q, w_k, w_v):
    x = np.frombuffer(x.tobytes()).reshape(x.shape)
    return x @ w_q, x @ w_k, x @ w_v


# project_qkv: memory


@mistake("np_returns_alias", "project_qkv")
@says("A later call overwrites the arrays that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def proj_reused_buffers(x, w_q, w_k, w_v):
    return into_buffer("q", x, w_q), into_buffer("k", x, w_k), into_buffer("v", x, w_v)


@mistake("np_memoised_on_shape", "project_qkv")
@says("The answer of an earlier call is given again to any input of the same shape.")
@hint("What else does a stored answer depend on, besides a shape?")
def proj_memoised_on_shape(x, w_q, w_k, w_v):
    key = x.shape, w_q.shape, w_v.shape
    if key not in projected_before:
        projected_before[key] = x @ w_q, x @ w_k, x @ w_v
    q, k, v = projected_before[key]
    return q.copy(), k.copy(), v.copy()


@mistake("np_module_state", "project_qkv")
@says("The keys of all earlier calls are kept and returned as well.")
@hint("Does your answer depend on what was called before?")
def proj_keys_pile_up(x, w_q, w_k, w_v):
    keys_so_far.append(x @ w_k)
    return x @ w_q, np.concatenate(keys_so_far, axis=-2), x @ w_v


@mistake("np_input_mutated", "project_qkv")
@says("The caller's w_q is scaled in place and stays so after the call.")
@hint("Print the weights that you hand in before the call and after it.")
def proj_scales_w_q_in_place(x, w_q, w_k, w_v):
    w_q *= 0.1
    q = x @ w_q * 10.0
    return q, x @ w_k, x @ w_v


@mistake("proj_elementwise", "linear")
@says("x and weight are multiplied number by number with `*`, which is not a matrix product.")
@hint("Which operator multiplies a row by a column and adds up?")
def proj_elementwise(x, weight, bias=None):
    y = x * weight
    return y if bias is None else y + bias


@mistake("proj_in_equal_parts", "project_qkv")
@says("One joint projection is cut into three equal parts, though d_v may differ from d_k.")
@hint("How wide is each of the three weights?")
def proj_in_equal_parts(x, w_q, w_k, w_v):
    together = x @ np.concatenate([w_q, w_k, w_v], axis=-1)
    width = together.shape[-1] // 3
    return (
        together[..., :width],
        together[..., width : 2 * width],
        together[..., 2 * width : 3 * width],
    )


@mistake("proj_cut_by_d_k", "project_qkv")
@says("One joint projection is cut into parts of width d_k, though d_v may differ.")
@hint("How wide is each of the three weights?")
def proj_cut_by_d_k(x, w_q, w_k, w_v):
    together = x @ np.concatenate([w_q, w_k, w_v], axis=-1)
    d_k = w_q.shape[-1]
    return together[..., :d_k], together[..., d_k : 2 * d_k], together[..., 2 * d_k : 3 * d_k]
