"""Known wrong versions of step 15, each with one mistake."""

import numpy as np

from exercises.step04_softmax import softmax
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def rows_of(array):
    """Return all positions of all sequences, one below another."""
    return array.reshape(-1, array.shape[-1])


def for_weight(d_out, x):
    """Return a right gradient of the weight."""
    return rows_of(x).T @ rows_of(d_out)


def for_bias(d_out):
    """Return a right gradient of the bias."""
    return rows_of(d_out).sum(axis=0)


def counted_in(targets, ignore_id):
    """Return which targets count; raise ValueError if none does."""
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("every target is ignored")
    return counted


def one_hot(targets, counted, vocabulary):
    """Return a 1 at each target that counts."""
    return (np.where(counted, targets, -1)[..., None] == np.arange(vocabulary)) * 1.0


def gap(logits, targets, counted):
    """Return probabilities minus one-hot targets, 0 where a target does not count."""
    difference = softmax(logits) - one_hot(targets, counted, logits.shape[-1])
    return np.where(counted[..., None], difference, 0.0)


def table_of(d_x, tokens, vocabulary):
    """Return a right gradient of the table."""
    table = np.zeros((vocabulary, d_x.shape[-1]))
    np.add.at(table, tokens, d_x)
    return table


# linear_backward


@mistake("grad_mean_for_sum", "linear_backward")
@says("The gradients of weight and bias are means over the positions, not sums.")
@hint("A weight that serves two positions changes the loss through both. Is that more, or half?")
def linear_mean_over_positions(d_out, x, weight):
    count = rows_of(x).shape[0]
    return d_out @ weight.T, for_weight(d_out, x) / count, for_bias(d_out) / count


@mistake("grad_mean_over_batch", "linear_backward")
@says("The gradients of weight and bias are divided by the number of sequences.")
@hint("Where has the mean been taken already: here, or in the loss?")
def linear_mean_over_batch(d_out, x, weight):
    count = max(1, int(np.prod(x.shape[:-2])))
    return d_out @ weight.T, for_weight(d_out, x) / count, for_bias(d_out) / count


@mistake("grad_batch_not_summed", "linear_backward")
@says("The sum over the batch is missing: there is a gradient of the weight for each sequence.")
@hint("Which shape has the weight, and which has your gradient of it for a batch of three?")
def linear_batch_not_summed(d_out, x, weight):
    return d_out @ weight.T, np.swapaxes(x, -1, -2) @ d_out, d_out.sum(axis=-2)


@mistake("grad_first_sequence_only", "linear_backward")
@says("Only the first sequence of a batch counts in the gradients of weight and bias.")
@hint("Which sequences did the weight serve?")
def linear_first_sequence_only(d_out, x, weight):
    first = (0,) * (x.ndim - 2)
    d_weight = x[first].T @ d_out[first]
    return d_out @ weight.T, d_weight, d_out[first].sum(axis=0)


@mistake("grad_bias_batch_axis_only", "linear_backward")
@says("The gradient of the bias keeps the time axis: it is summed over one axis too few.")
@hint("Which axes of d_out does the bias not have?")
def linear_bias_keeps_time(d_out, x, weight):
    return d_out @ weight.T, for_weight(d_out, x), d_out.sum(axis=tuple(range(d_out.ndim - 2)))


@mistake("grad_hardcoded_rank", "linear_backward")
@says("The gradient of the bias sums over two axes, whatever number of batch axes there is.")
@hint("How many axes does d_out have without a batch, and how many with two batch axes?")
def linear_two_axes(d_out, x, weight):
    axes = (0, 1) if d_out.ndim > 2 else 0
    return d_out @ weight.T, for_weight(d_out, x), d_out.sum(axis=axes)


@mistake("grad_bias_over_features", "linear_backward")
@says("The gradient of the bias sums over the features where it should sum over the positions.")
@hint("The bias has a number for each output feature: over what may you sum?")
def linear_bias_over_features(d_out, x, weight):
    total = rows_of(d_out).sum(axis=-1)
    return d_out @ weight.T, for_weight(d_out, x), np.resize(total, weight.shape[-1])


@mistake("grad_bias_ones", "linear_backward")
@says("The gradient of the bias is the number of positions: d_out is not in it.")
@hint("By how much does the loss grow with each result? Where is that in d_bias?")
def linear_bias_counts(d_out, x, weight):
    return d_out @ weight.T, for_weight(d_out, x), np.full(weight.shape[-1], 1.0 * len(rows_of(x)))


@mistake("grad_weight_ignores_d_out", "linear_backward")
@says("The gradient of the weight is the sum of x, as if every d_out were 1.")
@hint("If d_out is twice as large, what becomes of your d_weight?")
def linear_weight_without_d_out(d_out, x, weight):
    return d_out @ weight.T, for_weight(np.ones_like(d_out), x), for_bias(d_out)


@mistake("grad_not_transposed", "linear_backward")
@says("d_out is multiplied by the weight as in the forward pass, not by its transpose.")
@hint("Which axis of the weight must meet the features of d_out?")
def linear_not_transposed(d_out, x, weight):
    size = max(weight.shape)
    square = np.zeros((size, size), weight.dtype)
    square[: weight.shape[0], : weight.shape[1]] = weight
    wide = np.zeros((*d_out.shape[:-1], size), d_out.dtype)
    wide[..., : d_out.shape[-1]] = d_out
    return (wide @ square)[..., : x.shape[-1]], for_weight(d_out, x), for_bias(d_out)


@mistake("grad_weight_transposed", "linear_backward")
@says("The gradient of the weight is transposed: (n_out, n_in), as torch keeps its weights.")
@hint("Which shape has the weight here, and which has your gradient?")
def linear_weight_transposed(d_out, x, weight):
    return d_out @ weight.T, for_weight(d_out, x).T, for_bias(d_out)


@mistake("grad_results_swapped", "linear_backward")
@says("The three gradients come back in another order.")
@hint("In which order does the docstring name the results?")
def linear_results_swapped(d_out, x, weight):
    return for_weight(d_out, x), for_bias(d_out), d_out @ weight.T


@mistake("grad_d_out_clipped", "linear_backward")
@says("d_out is clipped to a norm of 1 before it is used.")
@hint("Is a backward function the place where gradients become smaller?")
def linear_d_out_clipped(d_out, x, weight):
    d_out = d_out / max(1.0, float(np.sqrt((d_out**2).sum())))
    return d_out @ weight.T, for_weight(d_out, x), for_bias(d_out)


@mistake("grad_batch_mixed", "linear_backward")
@says("The products are taken over the features of a reshape that mixes positions.")
@hint("After your reshape, does a row still hold the features of one position?")
def linear_reshape_mixes(d_out, x, weight):
    mixed = x.reshape(x.shape[-1], -1)
    return d_out @ weight.T, mixed @ rows_of(d_out), for_bias(d_out)


@mistake("out_returns_view", "linear_backward")
@says("The gradient of the weight lives in a buffer that the next call overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def linear_same_buffer(d_out, x, weight):
    return d_out @ weight.T, in_the_same_array(for_weight(d_out, x)), for_bias(d_out)


@mistake("grad_accumulates", "linear_backward")
@says("Gradients are added to those of earlier calls, as torch adds to .grad.")
@hint("Call your function twice with the same arguments: is the second answer the first?")
def linear_accumulates(d_out, x, weight):
    key = ("linear", weight.shape)
    kept_arrays[key] = kept_arrays.get(key, 0) + for_weight(d_out, x)
    return d_out @ weight.T, kept_arrays[key].copy(), for_bias(d_out)


@mistake("np_input_mutated", "linear_backward")
@says("x is overwritten with its own gradient.")
@hint("Whose array is on the left of your assignment?")
def linear_writes_into_x(d_out, x, weight):
    d_weight, d_bias = for_weight(d_out, x), for_bias(d_out)
    x[...] = d_out @ weight.T
    return x, d_weight, d_bias


@mistake("np_float32_downcast", "linear_backward")
@says("d_out is rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def linear_in_float32(d_out, x, weight):
    d_out = d_out.astype(np.float32)
    return d_out @ weight.T, for_weight(d_out, x), for_bias(d_out)


@mistake("np_half_precision", "linear_backward")
@says("Gradients of float32 numbers are kept in half precision.")
@hint("In which dtype do you keep d_out, and how many digits does it have?")
def linear_in_half(d_out, x, weight):
    if d_out.dtype == np.float32:
        d_out = d_out.astype(np.float16).astype(np.float32)
    return d_out @ weight.T, for_weight(d_out, x), for_bias(d_out)


# softmax_backward


@mistake("softmax_grad_diagonal_only", "softmax_backward")
@says("Only the slope of a weight with its own score is used: w (1 − w), as for a sigmoid.")
@hint("If one score rises, what becomes of the other weights of its row?")
def softmax_diagonal_only(d_weights, weights):
    return d_weights * weights * (1 - weights)


@mistake("softmax_grad_no_second_term", "softmax_backward")
@says("The second term is missing: the weighted mean of d_weights is not taken off.")
@hint("What do the numbers in a row of your result add up to, and what should they?")
def softmax_no_second_term(d_weights, weights):
    return d_weights * weights


@mistake("softmax_grad_mean_unweighted", "softmax_backward")
@says("The mean that is taken off is a plain one: the weights are not in it.")
@hint("What do the numbers in a row of your result add up to, and what should they?")
def softmax_plain_mean(d_weights, weights):
    return weights * (d_weights - d_weights.mean(axis=-1, keepdims=True))


@mistake("softmax_grad_sum_unweighted", "softmax_backward")
@says("What is taken off is the sum of d_weights without the weights.")
@hint("Which mean of d_weights is the one that a small change of all scores would see?")
def softmax_plain_sum(d_weights, weights):
    return weights * (d_weights - d_weights.sum(axis=-1, keepdims=True))


@mistake("softmax_grad_mean_of_product", "softmax_backward")
@says("The products with the weights are averaged once more, not added up.")
@hint("The weights add up to 1 already: what does another division do?")
def softmax_mean_of_product(d_weights, weights):
    mean = (weights * d_weights).mean(axis=-1, keepdims=True)
    return weights * (d_weights - mean)


@mistake("softmax_grad_axis", "softmax_backward")
@says("The weighted mean is taken over the queries, not over the keys.")
@hint("Along which axis did softmax make numbers that add up to 1?")
def softmax_other_axis(d_weights, weights):
    axis = -2 if weights.ndim > 1 else -1
    return weights * (d_weights - (weights * d_weights).sum(axis=axis, keepdims=True))


@mistake("softmax_grad_keepdims_missing", "softmax_backward")
@says("The mean of each row loses its axis, so it does not line up with its row.")
@hint("Which shape has the mean that you subtract, and which shape have the weights?")
def softmax_keepdims_missing(d_weights, weights):
    return weights * (d_weights - (weights * d_weights).sum(axis=-1))


@mistake("softmax_grad_sign", "softmax_backward")
@says("The sign is turned round.")
@hint("A weight whose d_weights is above the mean: should its score rise or fall?")
def softmax_sign(d_weights, weights):
    return weights * ((weights * d_weights).sum(axis=-1, keepdims=True) - d_weights)


@mistake("softmax_grad_of_softmax", "softmax_backward")
@says("softmax is applied to the weights once more: they were taken for scores.")
@hint("Is the second argument what went into softmax or what came out?")
def softmax_of_weights(d_weights, weights):
    weights = softmax(weights)
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


@mistake("softmax_grad_log_softmax", "softmax_backward")
@says("This is the gradient of log_softmax: the outer factor is missing.")
@hint("Is the loss given as a function of probabilities or of their logarithms?")
def softmax_of_the_logarithm(d_weights, weights):
    return d_weights - weights * d_weights.sum(axis=-1, keepdims=True)


@mistake("softmax_grad_weights_squared", "softmax_backward")
@says("The second term has one factor of the weights too many or too few.")
@hint("Write the matrix of slopes for two weights, and count the factors in each entry.")
def softmax_second_factor_missing(d_weights, weights):
    return weights * d_weights - (weights * d_weights).sum(axis=-1, keepdims=True)


@mistake("softmax_grad_divides", "softmax_backward")
@says("The mean is divided by the sum of the weights, which is 0 in a row of zeros.")
@hint("What does your function return for a query that may attend to nothing?")
def softmax_normalises(d_weights, weights):
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        mean = (weights * d_weights).sum(axis=-1, keepdims=True) / total
        return weights * (d_weights - mean)


@mistake("softmax_grad_logarithm", "softmax_backward")
@says("The scores are rebuilt with a logarithm, which is −∞ where a weight is 0.")
@hint("Does the formula need the scores, or are the weights enough?")
def softmax_by_logarithm(d_weights, weights):
    with np.errstate(all="ignore"):
        scores = np.log(weights)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        again = e / e.sum(axis=-1, keepdims=True)
    return again * (d_weights - (again * d_weights).sum(axis=-1, keepdims=True))


@mistake("grad_d_out_clipped", "softmax_backward")
@says("d_weights is cut off at ±1.")
@hint("If d_weights is ten times as large, what becomes of your result?")
def softmax_d_weights_cut(d_weights, weights):
    d_weights = np.clip(d_weights, -1, 1)
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


@mistake("np_input_mutated", "softmax_backward")
@says("The mean is taken off the caller's d_weights.")
@hint("What does -= do to an array that your function was only lent?")
def softmax_in_place(d_weights, weights):
    d_weights -= (weights * d_weights).sum(axis=-1, keepdims=True)
    return weights * d_weights


@mistake("out_returns_view", "softmax_backward")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def softmax_same_buffer(d_weights, weights):
    mean = (weights * d_weights).sum(axis=-1, keepdims=True)
    return in_the_same_array(weights * (d_weights - mean))


@mistake("grad_d_out_clipped", "softmax_backward")
@says("Slopes are cut off at ±1000.")
@hint("If d_weights is a thousand times as large, what becomes of your result?")
def softmax_slopes_cut(d_weights, weights):
    d_weights = np.clip(d_weights, -1000, 1000)
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


@mistake("np_half_precision", "softmax_backward")
@says("The mean that is taken off float32 slopes is kept in half precision.")
@hint("In which dtype do you keep the mean, and how many digits does it have?")
def softmax_mean_in_half(d_weights, weights):
    mean = (weights * d_weights).sum(axis=-1, keepdims=True)
    if weights.dtype == np.float32:
        mean = mean.astype(np.float16).astype(np.float32)
    return weights * (d_weights - mean)


# cross_entropy_backward


@mistake("ce_grad_sum_for_mean", "cross_entropy_backward")
@says("The gradient is that of the sum of the losses: the division by N is missing.")
@hint("cross_entropy is a mean. Over how many predictions?")
def entropy_not_divided(logits, targets, ignore_id=None):
    return gap(logits, targets, counted_in(targets, ignore_id))


@mistake("ce_grad_divided_by_length", "cross_entropy_backward")
@says("The gradient is divided by the length of a sequence, not by all predictions.")
@hint("Over how many predictions does the mean run in a batch of three sequences?")
def entropy_divided_by_length(logits, targets, ignore_id=None):
    return gap(logits, targets, counted_in(targets, ignore_id)) / targets.shape[-1]


@mistake("ce_grad_divided_by_batch", "cross_entropy_backward")
@says("The gradient is divided by the number of sequences, not by all predictions.")
@hint("Over how many predictions does the mean run in a sequence of three?")
def entropy_divided_by_batch(logits, targets, ignore_id=None):
    count = max(1, int(np.prod(targets.shape[:-1])))
    return gap(logits, targets, counted_in(targets, ignore_id)) / count


@mistake("ce_grad_divided_by_vocabulary", "cross_entropy_backward")
@says("The mean is taken over the vocabulary as well.")
@hint("How many numbers are averaged in the loss: predictions, or all logits?")
def entropy_divided_by_vocabulary(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    return gap(logits, targets, counted) / np.count_nonzero(counted) / logits.shape[-1]


@mistake("ce_grad_ignored_in_count", "cross_entropy_backward")
@says("Ignored positions are counted in N.")
@hint("By what does cross_entropy divide if half of the targets are ignored?")
def entropy_counts_ignored(logits, targets, ignore_id=None):
    return gap(logits, targets, counted_in(targets, ignore_id)) / targets.size


@mistake("ce_grad_ignored_gets_softmax", "cross_entropy_backward")
@says("Ignored positions get their probabilities as gradient: only the target is left out.")
@hint("What does the loss say about the logits of a position that it ignores?")
def entropy_ignored_not_zero(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    difference = softmax(logits) - one_hot(targets, counted, logits.shape[-1])
    return difference / np.count_nonzero(counted)


@mistake("ce_grad_ignore_not_used", "cross_entropy_backward")
@says("ignore_id is not used: every position counts.")
@hint("Follow the argument ignore_id through your function: where does it act?")
def entropy_ignores_nothing(logits, targets, ignore_id=None):
    hot = targets[..., None] % logits.shape[-1] == np.arange(logits.shape[-1])
    return (softmax(logits) - hot) / targets.size


@mistake("ce_grad_always_minus_100", "cross_entropy_backward")
@says("−100 is ignored, whatever ignore_id is.")
@hint("Follow the argument ignore_id through your function: where does it act?")
def entropy_ignores_minus_100(logits, targets, ignore_id=None):
    counted = counted_in(targets, -100)
    hot = targets[..., None] % logits.shape[-1] == np.arange(logits.shape[-1])
    difference = np.where(counted[..., None], softmax(logits) - hot, 0.0)
    return difference / np.count_nonzero(counted)


@mistake("ce_grad_ignore_padding_only", "cross_entropy_backward")
@says("Only 0 and ids outside the vocabulary are ignored: any other token counts.")
@hint("Which ids may ignore_id be, and for which of them did you try your function?")
def entropy_ignores_padding_only(logits, targets, ignore_id=None):
    inside = ignore_id is not None and 0 < ignore_id < logits.shape[-1]
    counted = counted_in(targets, None if inside else ignore_id)
    return gap(logits, targets, counted) / np.count_nonzero(counted)


@mistake("ce_grad_ignore_zero_falsy", "cross_entropy_backward")
@says("An ignore_id of 0 is taken for none, because 0 is false.")
@hint("Which values of ignore_id does `if ignore_id` let through?")
def entropy_zero_is_false(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id or None)
    return gap(logits, targets, counted) / np.count_nonzero(counted)


@mistake("ce_grad_sign", "cross_entropy_backward")
@says("The sign is turned round: this is the gradient of the log probability.")
@hint("Should the loss grow or shrink when the target's logit rises?")
def entropy_sign(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    return -gap(logits, targets, counted) / np.count_nonzero(counted)


@mistake("ce_grad_target_only", "cross_entropy_backward")
@says("Only the target's logit gets a gradient.")
@hint("If another token's logit rises, what becomes of the target's probability?")
def entropy_target_only(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    hot = one_hot(targets, counted, logits.shape[-1])
    return gap(logits, targets, counted) * hot / np.count_nonzero(counted)


@mistake("ce_grad_no_target", "cross_entropy_backward")
@says("The target is nowhere subtracted: the result is the probabilities.")
@hint("What do the numbers of a position add up to, and what should they?")
def entropy_no_target(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    return np.where(counted[..., None], softmax(logits), 0) / np.count_nonzero(counted)


@mistake("ce_grad_logits_for_probabilities", "cross_entropy_backward")
@says("The one-hot targets are subtracted from the logits, not from probabilities.")
@hint("The gradient is a difference of two distributions. Which two?")
def entropy_of_logits(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    difference = logits - one_hot(targets, counted, logits.shape[-1])
    return np.where(counted[..., None], difference, 0) / np.count_nonzero(counted)


@mistake("ce_grad_inverse_probability", "cross_entropy_backward")
@says("The result is −1/p at the target: the gradient for the probabilities, not the logits.")
@hint("With respect to what is the gradient asked for: logits or probabilities?")
def entropy_for_probabilities(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    hot = one_hot(targets, counted, logits.shape[-1])
    return -hot / softmax(logits) / np.count_nonzero(counted)


@mistake("ce_grad_softmax_over_time", "cross_entropy_backward")
@says("The probabilities are made along time, not over the vocabulary.")
@hint("Along which axis do the probabilities of the next token add up to 1?")
def entropy_softmax_over_time(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    difference = softmax(logits, axis=-2) - one_hot(targets, counted, logits.shape[-1])
    return np.where(counted[..., None], difference, 0) / np.count_nonzero(counted)


@mistake("softmax_no_max", "cross_entropy_backward")
@says("The exponential of a large logit overflows.")
@hint("Which of your earlier functions makes probabilities of any logits at all?")
def entropy_overflows(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        p = e / e.sum(axis=-1, keepdims=True)
    difference = p - one_hot(targets, counted, logits.shape[-1])
    return np.where(counted[..., None], difference, 0) / np.count_nonzero(counted)


@mistake("ce_grad_all_ignored", "cross_entropy_backward")
@says("If every target is ignored, zeros come back instead of a ValueError.")
@hint("What is the mean of no numbers?")
def entropy_all_ignored_zero(logits, targets, ignore_id=None):
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    return gap(logits, targets, counted) / max(1, np.count_nonzero(counted))


@mistake("np_input_mutated", "cross_entropy_backward")
@says("The gradient is written into the caller's logits.")
@hint("Whose array is on the left of your assignment?")
def entropy_in_place(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    logits[...] = gap(logits, targets, counted) / np.count_nonzero(counted)
    return logits.copy()


@mistake("grad_summed_over_batch", "cross_entropy_backward")
@says("The gradients of all sequences are added up, though each has logits of its own.")
@hint("Which shape have the logits, and which has your gradient?")
def entropy_summed_over_batch(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    d = gap(logits, targets, counted) / np.count_nonzero(counted)
    return d.sum(axis=tuple(range(d.ndim - 2)))


@mistake("np_half_precision", "cross_entropy_backward")
@says("Probabilities of float32 logits are kept in half precision.")
@hint("In which dtype do you keep the probabilities, and how many digits does it have?")
def entropy_in_half(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    difference = gap(logits, targets, counted)
    if logits.dtype == np.float32:
        difference = difference.astype(np.float16).astype(np.float32)
    return difference / np.count_nonzero(counted)


@mistake("np_memoised_on_shape", "cross_entropy_backward")
@says("The first targets of a shape are kept for every later call.")
@hint("Can two arrays of targets have the same shape and differ?")
def entropy_targets_memoised(logits, targets, ignore_id=None):
    targets = kept_arrays.setdefault(("targets", targets.shape), targets.copy())
    counted = counted_in(targets, ignore_id)
    return gap(logits, targets, counted) / np.count_nonzero(counted)


@mistake("out_returns_view", "cross_entropy_backward")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def entropy_same_buffer(logits, targets, ignore_id=None):
    counted = counted_in(targets, ignore_id)
    return in_the_same_array(gap(logits, targets, counted) / np.count_nonzero(counted))


# embedding_backward


@mistake("embedding_grad_last_wins", "embedding_backward")
@says("A token that occurs twice gets only one of its gradients: the last one wins.")
@hint("What does += do if its index names the same row twice?")
def table_last_wins(d_x, tokens, vocabulary):
    table = np.zeros((vocabulary, d_x.shape[-1]))
    table[tokens] += d_x
    return table


@mistake("embedding_grad_overwrites", "embedding_backward")
@says("The rows are set and not added to, in a loop: earlier gradients are lost.")
@hint("A token that occurs three times was used three times. What happens to its gradients?")
def table_overwrites(d_x, tokens, vocabulary):
    table = np.zeros((vocabulary, d_x.shape[-1]))
    for token, row in zip(tokens.ravel(), rows_of(d_x), strict=True):
        table[token] = row
    return table


@mistake("embedding_grad_mean", "embedding_backward")
@says("A token that occurs several times gets the mean of its gradients, not their sum.")
@hint("A row that is read twice changes the loss through both places. Is that more, or half?")
def table_mean(d_x, tokens, vocabulary):
    counts = np.bincount(tokens.ravel(), minlength=vocabulary)
    return table_of(d_x, tokens, vocabulary) / np.maximum(counts, 1)[:, None]


@mistake("embedding_grad_first_sequence", "embedding_backward")
@says("Only the first sequence of a batch is read.")
@hint("Which sequences read from the table?")
def table_first_sequence(d_x, tokens, vocabulary):
    first = (0,) * (tokens.ndim - 1)
    return table_of(d_x[first], tokens[first], vocabulary)


@mistake("embedding_grad_per_sequence", "embedding_backward")
@says("The sum over the batch is missing: there is a table for each sequence.")
@hint("How many tables did the forward pass read from?")
def table_per_sequence(d_x, tokens, vocabulary):
    hot = (tokens[..., None] == np.arange(vocabulary)) * 1.0
    return np.swapaxes(hot, -1, -2) @ d_x


@mistake("embedding_grad_reads", "embedding_backward")
@says("Rows of d_x are read by the tokens' ids: this is a lookup once more.")
@hint("Which of the two arrays has a row for each token id?")
def table_reads(d_x, tokens, vocabulary):
    return np.resize(rows_of(d_x), (vocabulary, d_x.shape[-1]))


@mistake("embedding_grad_by_position", "embedding_backward")
@says("The gradients are collected by position, not by token.")
@hint("Which row of the table was read at position 0?")
def table_by_position(d_x, tokens, vocabulary):
    table = np.zeros((vocabulary, d_x.shape[-1]))
    by_time = d_x.reshape(-1, *d_x.shape[-2:]).sum(axis=0)[:vocabulary]
    table[: len(by_time)] = by_time
    return table


@mistake("embedding_grad_smaller_table", "embedding_backward")
@says("The result has rows only up to the largest token that occurs.")
@hint("Which argument says how many rows the table has?")
def table_too_small(d_x, tokens, vocabulary):
    return table_of(d_x, tokens, int(tokens.max()) + 1)


@mistake("embedding_grad_only_used", "embedding_backward")
@says("Tokens that do not occur have no row: the result is as long as the set of tokens.")
@hint("Which row of your result belongs to token 3?")
def table_only_used(d_x, tokens, vocabulary):
    used, where = np.unique(tokens, return_inverse=True)
    return table_of(d_x, where.reshape(tokens.shape), len(used))


@mistake("embedding_grad_zero_is_padding", "embedding_backward")
@says("Token 0 gets no gradient, as if it were padding.")
@hint("Which of the arguments says that token 0 does not count?")
def table_zero_is_padding(d_x, tokens, vocabulary):
    table = table_of(d_x, tokens, vocabulary)
    table[0] = 0
    return table


@mistake("grad_accumulates", "embedding_backward")
@says("The table of the last call is not emptied: gradients of earlier calls stay in it.")
@hint("Call your function twice with the same arguments: is the second answer the first?")
def table_accumulates(d_x, tokens, vocabulary):
    key = ("table", vocabulary, d_x.shape[-1])
    table = kept_arrays.setdefault(key, np.zeros((vocabulary, d_x.shape[-1])))
    np.add.at(table, tokens, d_x)
    return table.copy()


@mistake("np_float32_downcast", "embedding_backward")
@says("The gradients are collected in float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def table_in_float32(d_x, tokens, vocabulary):
    table = np.zeros((vocabulary, d_x.shape[-1]), np.float32)
    np.add.at(table, tokens, d_x.astype(np.float32))
    return table


@mistake("embedding_grad_integers", "embedding_backward")
@says("The table holds integers, so every gradient loses its decimals.")
@hint("Which dtype does your table of zeros have?")
def table_of_integers(d_x, tokens, vocabulary):
    table = np.zeros((vocabulary, d_x.shape[-1]), dtype=tokens.dtype)
    for token, row in zip(tokens.ravel(), rows_of(d_x), strict=True):
        table[token] += row.astype(table.dtype)
    return table


@mistake("np_half_precision", "embedding_backward")
@says("Gradients of float32 numbers are kept in half precision.")
@hint("In which dtype do you keep d_x, and how many digits does it have?")
def table_in_half(d_x, tokens, vocabulary):
    if d_x.dtype == np.float32:
        d_x = d_x.astype(np.float16).astype(np.float32)
    return table_of(d_x, tokens, vocabulary)


@mistake("np_input_mutated", "embedding_backward")
@says("The gradients of a token are added up in the caller's d_x, where it comes first.")
@hint("What does += do to an array that your function was only lent?")
def table_adds_into_d_x(d_x, tokens, vocabulary):
    table, first = np.zeros((vocabulary, d_x.shape[-1])), {}
    for place in np.ndindex(*tokens.shape):
        if tokens[place] in first:
            d_x[first[tokens[place]]] += d_x[place]
        first.setdefault(tokens[place], place)
    for token, place in first.items():
        table[token] = d_x[place]
    return table


@mistake("grad_bias_mean", "linear_backward")
@says("The gradient of the bias is the mean over the positions, not the sum.")
@hint("A bias is used once for every position: what becomes of its gradients?")
def grad_bias_mean(d_out, x, weight):
    d_positions = d_out.reshape(-1, d_out.shape[-1])
    d_weight = x.reshape(-1, x.shape[-1]).T @ d_positions
    return d_out @ weight.T, d_weight, d_positions.mean(axis=0)
