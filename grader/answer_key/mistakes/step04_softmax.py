"""Known wrong versions of step 4, each with one mistake."""

import numpy as np

from grader.answer_key.variants import hint, mistake, says

weights_before = {}
weight_buffers = {}
totals_so_far = {}


def safe_exponentials(scores, axis=-1):
    """Return exp(scores - maximum), for variants that go wrong before or after it."""
    maximum = np.max(scores, axis=axis, keepdims=True)
    return np.exp(scores - np.where(maximum == -np.inf, 0.0, maximum))


def safe_ratio(exponentials, total):
    """Return exponentials / total, and 0 where the total is 0."""
    return exponentials / np.where(total == 0, 1.0, total)


def right_weights(scores, axis=-1):
    """Return the right weights, for variants that go wrong before or after them."""
    exponentials = safe_exponentials(scores, axis)
    return safe_ratio(exponentials, np.sum(exponentials, axis=axis, keepdims=True))


# another function


@mistake("softmax_no_exp", "softmax")
@says("The scores are divided by their sum without an exponential.")
@hint("Can an attention weight be negative?")
def softmax_no_exp(scores, axis=-1):
    finite = np.where(np.isinf(scores), 0.0, scores)
    return safe_ratio(finite, finite.sum(axis=axis, keepdims=True))


@mistake("softmax_wrong_base_or_sigmoid", "softmax")
@says("The weights are made of powers of 2 instead of powers of e.")
@hint("Compare your result with a softmax of [0, 1] that you compute by hand.")
def softmax_base_2(scores, axis=-1):
    return right_weights(scores * np.log(2.0), axis)


@mistake("softmax_wrong_base_or_sigmoid", "softmax")
@says("Each score goes through a sigmoid of its own.")
@hint("Does the weight of one key depend on the scores of the others?")
def softmax_sigmoid(scores, axis=-1):
    return np.exp(-np.logaddexp(0.0, -np.asarray(scores)))


@mistake("softmax_wrong_base_or_sigmoid", "softmax")
@says("One is added to the denominator, so the weights add up to less than 1.")
@hint("Do the weights of one query share out the whole?")
def softmax_plus_one(scores, axis=-1):
    maximum = np.maximum(np.max(scores, axis=axis, keepdims=True), 0.0)
    exponentials = np.exp(scores - maximum)
    return exponentials / (np.exp(-maximum) + exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_log_not_exponentiated", "softmax")
@says("The logarithms of the weights are returned.")
@hint("Are your weights probabilities or their logarithms?")
def softmax_log_not_exponentiated(scores, axis=-1):
    return np.log(right_weights(scores, axis))


@mistake("softmax_not_normalised", "softmax")
@says("The exponentials are not divided by their sum.")
@hint("What do the weights of one query add up to?")
def softmax_not_normalised(scores, axis=-1):
    return safe_exponentials(scores, axis)


@mistake("softmax_negative_scores", "softmax")
@says("The sign of the scores is turned round, so low scores get high weights.")
@hint("Which key should get the most weight?")
def softmax_negative_scores(scores, axis=-1):
    return right_weights(np.where(np.isinf(scores), scores, -np.asarray(scores)), axis)


@mistake("softmax_argmax", "softmax")
@says("The largest score takes all the weight.")
@hint("Should attention be all or nothing?")
def softmax_argmax(scores, axis=-1):
    best = np.asarray(scores) == np.max(scores, axis=axis, keepdims=True)
    return (best & (np.cumsum(best, axis=axis) == 1) & ~np.isinf(scores)).astype(float)


@mistake("softmax_twice", "softmax")
@says("The softmax is applied twice, which makes the weights much flatter.")
@hint("How many times do you normalise?")
def softmax_twice(scores, axis=-1):
    weights = right_weights(scores, axis)
    return right_weights(np.where(np.isinf(scores), -np.inf, weights), axis)


@mistake("softmax_rounded", "softmax")
@says("The weights are rounded to six decimals.")
@hint("Who needs short numbers: the reader of your output or the next step?")
def softmax_rounded(scores, axis=-1):
    return np.round(right_weights(scores, axis), 6)


@mistake("softmax_eps_denominator", "softmax")
@says("A millionth is added to the denominator, so the weights add up to less than 1.")
@hint("Do the weights add up to 1 to the last digit?")
def softmax_eps_denominator(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-6)


@mistake("softmax_small_number_in_sum", "softmax")
@says("A small number is added to the sum, so the weights do not quite add up to 1.")
@hint("What do you divide by when the row is empty, and what when it is not?")
def softmax_small_eps_denominator(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-10)


@mistake("softmax_eps_denominator", "softmax")
@says("A small number is added to every exponential, so forbidden keys get some weight.")
@hint("What is the weight of a score of minus infinity?")
def softmax_eps_numerator(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis) + 1e-6
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


# another axis


@mistake("softmax_query_axis", "softmax")
@says("The columns add up to 1 instead of the rows.")
@hint("Which direction of your weights adds up to 1?")
def softmax_query_axis(scores, axis=-1):
    return right_weights(scores, -2)


@mistake("softmax_batch_axis", "softmax")
@says("The weights add up to 1 along the first axis, whatever it is.")
@hint("With one text in the batch, are all your weights 1?")
def softmax_batch_axis(scores, axis=-1):
    return right_weights(scores, 0)


@mistake("softmax_hardcoded_rank", "softmax")
@says("The weights add up to 1 along axis 1, which is the last one only without a batch.")
@hint("Is the last axis at the same place for any number of axes?")
def softmax_hardcoded_rank(scores, axis=-1):
    return right_weights(scores, 1 if axis == -1 else axis)


@mistake("softmax_head_axis", "softmax")
@says("With two batch axes the weights add up to 1 along the second, where heads would be.")
@hint("Over which axis are the alternatives of one query listed?")
def softmax_head_axis(scores, axis=-1):
    return right_weights(scores, -3 if scores.ndim > 3 and axis == -1 else axis)


@mistake("softmax_global", "softmax")
@says("All weights of the whole array together add up to 1.")
@hint("How many distributions should there be?")
def softmax_global(scores, axis=-1):
    exponentials = safe_exponentials(scores, None)
    return safe_ratio(exponentials, exponentials.sum())


@mistake("softmax_global_sum", "softmax")
@says("The maximum is taken row by row, but the sum over the whole array.")
@hint("By the sum over which numbers is one exponential divided?")
def softmax_global_sum(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return safe_ratio(exponentials, exponentials.sum())


@mistake("softmax_keepdims_missing", "softmax")
@says("The sum loses its axis, so a row is divided by sums of other rows.")
@hint("Which shape has the thing that you divide by? Look up keepdims.")
def softmax_sum_loses_axis(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return safe_ratio(exponentials, exponentials.sum(axis=axis))


@mistake("softmax_keepdims_missing", "softmax")
@says("The maximum loses its axis, so each column is lowered by the maximum of a row.")
@hint("Which shape has the thing that you subtract? Look up keepdims.")
def softmax_maximum_loses_axis(scores, axis=-1):
    maximum = np.max(scores, axis=axis)
    exponentials = np.exp(scores - np.where(maximum == -np.inf, 0.0, maximum))
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("np_swapped_args_transpose", "softmax")
@says("`.T` is used to divide row by row, which on a batch turns the batch axis round too.")
@hint("Print the shape of the transpose of an array with three axes.")
def softmax_divides_transposed(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    if axis != -1:
        return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))
    return safe_ratio(exponentials.T, exponentials.sum(axis=-1)).T


@mistake("softmax_axis_ignored", "softmax")
@says("The argument axis is ignored: it is always the last one.")
@hint("Where does your function use its second argument?")
def softmax_axis_ignored(scores, axis=-1):
    return right_weights(scores)


@mistake("softmax_axis_half_used", "softmax")
@says("The sum runs along axis, but the maximum is always taken along the last one.")
@hint("Is the same number subtracted from all scores that share one sum?")
def softmax_axis_half_used(scores, axis=-1):
    exponentials = safe_exponentials(scores)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_axis_not_moved_back", "softmax")
@says("The axis is moved to the end and never moved back.")
@hint("Compare the shape of your result with that of the scores.")
def softmax_axis_not_moved_back(scores, axis=-1):
    return right_weights(np.moveaxis(scores, axis, -1))


@mistake("softmax_axis_counts_from_end", "softmax")
@says("An axis counted from the front is counted from the end.")
@hint("Which axis is axis 1 of an array with three axes?")
def softmax_axis_counts_from_end(scores, axis=-1):
    return right_weights(scores, axis if axis < 0 else -1 - axis)


@mistake("softmax_global + softmax_no_max", "softmax")
@says(
    "At least two things differ. All weights of the whole array together add up to 1. No maximum "
    "is subtracted, so the exponential overflows."
)
@hint("How many distributions should there be?")
def softmax_global_textbook(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


@mistake("softmax_global + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. All weights of the whole array together add up to 1. An array of"
    " minus infinity gives NaN, because its maximum is subtracted from itself."
)
@hint("How many distributions should there be?")
def softmax_global_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum()


@mistake("softmax_axis_ignored + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. The argument axis is ignored: it is always the last one. A row "
    "of minus infinity gives NaN, because its maximum is subtracted from itself."
)
@hint("Where does your function use its second argument?")
def softmax_axis_ignored_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake("softmax_loops_over_first_axis", "softmax")
@says(
    "A loop takes the first axis apart and shares 1 out over each piece: that is a row only if "
    "there are two axes, and axis is ignored."
)
@hint("What does a loop over an array with three axes give you each time?")
def softmax_loops_over_first_axis(scores, axis=-1):
    pieces = [safe_exponentials(piece, None) for piece in scores]
    return np.array([safe_ratio(piece, piece.sum()) for piece in pieces])


@mistake("softmax_loops_over_first_axis + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. A loop takes the first axis apart and shares 1 out over each "
    "piece: that is a row only if there are two axes, and axis is ignored. A row of minus "
    "infinity gives NaN."
)
@hint("What does a loop over an array with three axes give you each time?")
def softmax_loops_over_first_axis_unguarded(scores, axis=-1):
    pieces = [np.exp(piece - np.max(piece)) for piece in scores]
    return np.array([piece / piece.sum() for piece in pieces])


# large scores


@mistake("softmax_no_max", "softmax")
@says("No maximum is subtracted, so the exponential overflows; and a row of -inf only is 0/0.")
@hint("Try softmax([1000, 1000]), then softmax([-inf, -inf]).")
def softmax_textbook(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_no_max", "softmax")
@says("No maximum is subtracted, so the exponential overflows.")
@hint("Try scores of a thousand.")
def softmax_no_max(scores, axis=-1):
    exponentials = np.exp(scores)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_global_max", "softmax")
@says("One maximum for the whole array is subtracted, so low rows vanish.")
@hint("Whose maximum should each row subtract?")
def softmax_global_max(scores, axis=-1):
    exponentials = safe_exponentials(scores, None)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_global_max", "softmax")
@says("One maximum for the whole array is subtracted, so low rows vanish and become 0/0.")
@hint("Whose maximum should each row subtract?")
def softmax_global_max_textbook(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_max_clamped_at_zero", "softmax")
@says("A maximum below zero is taken for zero, so very negative rows vanish.")
@hint("Test a row in which every score is very negative.")
def softmax_max_clamped_at_zero(scores, axis=-1):
    maximum = np.max(scores, axis=axis, keepdims=True, initial=0.0)
    exponentials = np.exp(scores - maximum)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_subtract_mean", "softmax")
@says("The mean is subtracted instead of the maximum, so the exponential can overflow.")
@hint("Does your shift guarantee that no exponent is positive?")
def softmax_subtract_mean(scores, axis=-1):
    allowed = np.isfinite(scores)
    count = np.maximum(allowed.sum(axis=axis, keepdims=True), 1)
    mean = np.where(allowed, scores, 0.0).sum(axis=axis, keepdims=True) / count
    exponentials = np.exp(scores - mean)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_subtract_min", "softmax")
@says("The minimum is subtracted instead of the maximum, so the exponential can overflow.")
@hint("Which sign do your exponents have?")
def softmax_subtract_min(scores, axis=-1):
    finite = np.where(np.isinf(scores), np.inf, scores)
    minimum = np.min(finite, axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(minimum == np.inf, 0.0, minimum))
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_abs_max", "softmax")
@says("The largest size is subtracted instead of the maximum, so negative rows vanish.")
@hint("What is the largest exponent in a row of very negative scores?")
def softmax_abs_max(scores, axis=-1):
    size = np.where(np.isinf(scores), 0.0, np.abs(scores)).max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - size)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_clipped", "softmax")
@says("Scores above 500 are cut off so that the exponential cannot overflow.")
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped(scores, axis=-1):
    exponentials = np.exp(np.minimum(scores, 500.0))
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_clipped", "softmax")
@says("Scores beyond -50 and 50 are cut off, minus infinity too, so that nothing overflows.")
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_both_ways_at_50(scores, axis=-1):
    exponentials = np.exp(np.clip(scores, -50.0, 50.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped", "softmax")
@says("Scores beyond -100 and 100 are cut off, minus infinity too, so that nothing overflows.")
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_both_ways_at_100(scores, axis=-1):
    exponentials = np.exp(np.clip(scores, -100.0, 100.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped", "softmax")
@says("Scores beyond -500 and 500 are cut off, minus infinity too, so that nothing overflows.")
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_both_ways_at_500(scores, axis=-1):
    exponentials = np.exp(np.clip(scores, -500.0, 500.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped", "softmax")
@says("Scores beyond -700 and 700 are cut off, minus infinity too, so that nothing overflows.")
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_both_ways_at_700(scores, axis=-1):
    exponentials = np.exp(np.clip(scores, -700.0, 700.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. Scores above 50 are cut off so that the exponential cannot "
    "overflow. A row of minus infinity gives NaN, because its sum is 0."
)
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_at_50_unguarded(scores, axis=-1):
    exponentials = np.exp(np.minimum(scores, 50.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. Scores above 100 are cut off so that the exponential cannot "
    "overflow. A row of minus infinity gives NaN, because its sum is 0."
)
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_at_100_unguarded(scores, axis=-1):
    exponentials = np.exp(np.minimum(scores, 100.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. Scores above 500 are cut off so that the exponential cannot "
    "overflow. A row of minus infinity gives NaN, because its sum is 0."
)
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_at_500_unguarded(scores, axis=-1):
    exponentials = np.exp(np.minimum(scores, 500.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_clipped + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. Scores above 700 are cut off so that the exponential cannot "
    "overflow. A row of minus infinity gives NaN, because its sum is 0."
)
@hint("Two large scores differ by one: do their weights?")
def softmax_clipped_at_700_unguarded(scores, axis=-1):
    exponentials = np.exp(np.minimum(scores, 700.0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("np_nan_to_num_mask", "softmax")
@says("The NaNs that come from an overflow are replaced by numbers.")
@hint("Do you cure the overflow or hide what it leaves behind?")
def softmax_nan_to_num(scores, axis=-1):
    exponentials = np.exp(scores)
    return np.nan_to_num(exponentials / exponentials.sum(axis=axis, keepdims=True))


@mistake("np_broad_except", "softmax")
@says("When the exponential overflows, equal weights are returned.")
@hint("What does your function return when the `try` fails, and is that the answer?")
def softmax_uniform_on_overflow(scores, axis=-1):
    try:
        with np.errstate(over="raise"):
            exponentials = np.exp(scores)
    except FloatingPointError:
        exponentials = np.ones(scores.shape)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


# rows in which everything is forbidden


@mistake("softmax_wrong_sign", "softmax")
@says("The scores are subtracted from the maximum instead of the reverse: the lowest one wins.")
@hint("Which score should get the largest weight? Do a row of two by hand.")
def softmax_maximum_minus_scores(scores, axis=-1):
    maximum = np.max(scores, axis=axis, keepdims=True)
    exponentials = np.exp(np.where(maximum == -np.inf, 0.0, maximum) - scores)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("softmax_wrong_sign", "softmax")
@says("The scores are subtracted from the maximum instead of the reverse: the lowest one wins.")
@hint("Which score should get the largest weight? Do a row of two by hand.")
def softmax_maximum_minus_scores_unguarded(scores, axis=-1):
    exponentials = np.exp(np.max(scores, axis=axis, keepdims=True) - scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_inf_minus_inf", "softmax")
@says("In a row of minus infinity the maximum is minus infinity too, and the difference is NaN.")
@hint("What are the maximum and the sum of an empty choice?")
def softmax_inf_minus_inf(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_small_number_in_sum", "softmax")
@says("A small number is added to the sum, so the weights do not quite add up to 1.")
@hint("What do you divide by when the row is empty, and what when it is not?")
def softmax_nine_digits(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-9)


@mistake("softmax_small_number_in_sum + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. A small number is added to the sum, so the weights do not quite "
    "add up to 1. A row of minus infinity gives NaN, because its maximum is subtracted from "
    "itself."
)
@hint("What is the maximum of an empty choice, and does a small number in the sum fix it?")
def softmax_nine_digits_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-9)


@mistake("softmax_small_number_in_sum", "softmax")
@says("A small number is added to the sum, so the weights do not quite add up to 1.")
@hint("What do you divide by when the row is empty, and what when it is not?")
def softmax_eight_digits(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-8)


@mistake("softmax_small_number_in_sum + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. A small number is added to the sum, so the weights do not quite "
    "add up to 1. A row of minus infinity gives NaN, because its maximum is subtracted from "
    "itself."
)
@hint("What is the maximum of an empty choice, and does a small number in the sum fix it?")
def softmax_eight_digits_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-8)


@mistake("softmax_small_number_in_sum", "softmax")
@says("A small number is added to the sum, so the weights do not quite add up to 1.")
@hint("What do you divide by when the row is empty, and what when it is not?")
def softmax_ten_digits(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-10)


@mistake("softmax_small_number_in_sum + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. A small number is added to the sum, so the weights do not quite "
    "add up to 1. A row of minus infinity gives NaN, because its maximum is subtracted from "
    "itself."
)
@hint("What is the maximum of an empty choice, and does a small number in the sum fix it?")
def softmax_ten_digits_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-10)


@mistake("softmax_small_number_in_sum", "softmax")
@says("A small number is added to the sum, so the weights do not quite add up to 1.")
@hint("What do you divide by when the row is empty, and what when it is not?")
def softmax_six_digits(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-6)


@mistake("softmax_small_number_in_sum + softmax_inf_minus_inf", "softmax")
@says(
    "At least two things differ. A small number is added to the sum, so the weights do not quite "
    "add up to 1. A row of minus infinity gives NaN, because its maximum is subtracted from "
    "itself."
)
@hint("What is the maximum of an empty choice, and does a small number in the sum fix it?")
def softmax_six_digits_unguarded(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-6)


@mistake("pad_row_nan", "softmax")
@says("A row without any allowed key is divided by its sum, which is 0.")
@hint("What do the exponentials of a row add up to if every key is forbidden?")
def softmax_zero_by_zero(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("pad_row_uniform_fallback", "softmax")
@says("A row without any allowed key gets equal weights.")
@hint("If everything is forbidden, what may the query receive?")
def softmax_uniform_fallback(scores, axis=-1):
    blocked = np.all(scores == -np.inf, axis=axis, keepdims=True)
    return right_weights(np.where(blocked, 0.0, scores), axis)


@mistake("pad_row_uniform_fallback", "softmax")
@says("Minus infinity is replaced by a finite number, which levels rows of nothing else.")
@hint("Does the softmax see how low a row is, or only how its scores differ?")
def softmax_finite_floor(scores, axis=-1):
    return right_weights(np.maximum(scores, -1e9), axis)


@mistake("softmax_blocked_all_or_none", "softmax")
@says("Forbidden rows are noticed only if the whole array is forbidden.")
@hint("What if one query may see nothing and the others may see something?")
def softmax_blocked_all_or_none(scores, axis=-1):
    if np.all(scores == -np.inf):
        return np.zeros(scores.shape)
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@mistake("softmax_any_blocked", "softmax")
@says("A row with a single forbidden key is treated as if all its keys were forbidden.")
@hint("Is anything left to choose from when one key of a row is forbidden?")
def softmax_any_blocked(scores, axis=-1):
    blocked = np.any(scores == -np.inf, axis=axis, keepdims=True)
    return np.where(blocked, 0.0, right_weights(scores, axis))


@mistake("np_copy_vs_view_write", "softmax")
@says("The zeros for forbidden rows are written into a temporary copy and get lost.")
@hint("Did the assignment reach the array that you return?")
def softmax_zeros_into_copy(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    weights = exponentials / exponentials.sum(axis=axis, keepdims=True)
    weights[np.isnan(weights)][...] = 0.0
    return weights


@mistake("softmax_blocked_along_last_axis", "softmax")
@says("Slices without any allowed entry are looked for along the last axis only.")
@hint("Which slices are forbidden throughout if the weights sum to 1 down the columns?")
def softmax_blocked_along_last_axis(scores, axis=-1):
    blocked = np.all(scores == -np.inf, axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    weights = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return np.where(blocked, 0.0, weights)


@mistake("softmax_blocked_threshold", "softmax")
@says("A row of very negative scores is taken for a forbidden one.")
@hint("Is a score of -100000 forbidden, or only low?")
def softmax_blocked_threshold(scores, axis=-1):
    low = np.max(scores, axis=axis, keepdims=True) < -1e4
    return np.where(low, 0.0, right_weights(scores, axis))


@mistake("softmax_no_max", "softmax")
@says("The logarithm of the sum is subtracted from the scores, not from their differences.")
@hint("How many digits after the point has a float32 near a million?")
def softmax_unshifted_log_sum(scores, axis=-1):
    log_total = np.logaddexp.reduce(scores, axis=axis, keepdims=True)
    return np.exp(scores - np.where(log_total == -np.inf, 0.0, log_total))


# types and memory


@mistake("softmax_int_truncation", "softmax")
@says("The weights are collected in an array of integers, which leaves zeros.")
@hint("Which type does the array have that you put the weights into?")
def softmax_int_truncation(scores, axis=-1):
    weights = np.zeros(scores.shape, dtype=int)
    weights[...] = right_weights(scores, axis)
    return weights


@mistake("np_float32_downcast", "softmax")
@says("The exponentials are computed in float32 even where the scores are float64.")
@hint("How many digits are left after your type conversion?")
def softmax_float32_downcast(scores, axis=-1):
    return right_weights(scores.astype(np.float32), axis)


@mistake("np_float64_only", "softmax")
@says("Everything that is not float64 is taken for integers and loses its decimals.")
@hint("Which types of numbers does the docstring allow?")
def softmax_other_types_are_integers(scores, axis=-1):
    if scores.dtype != float:
        scores = np.where(np.isinf(scores), scores, np.trunc(scores))
    return right_weights(scores, axis)


@mistake("np_float64_only", "softmax")
@says("The maximum is subtracted only above 700, but in float32 88 is too much already.")
@hint("At which score does the exponential overflow in float32?")
def softmax_shifts_above_700(scores, axis=-1):
    if np.max(np.abs(scores), where=np.isfinite(scores), initial=0.0) > 700:
        return right_weights(scores, axis)
    exponentials = np.exp(scores)
    return safe_ratio(exponentials, exponentials.sum(axis=axis, keepdims=True))


@mistake("np_squeeze_kills_axis", "softmax")
@says("Axes of length 1 vanish from the weights.")
@hint("Which shape should the weights of one query have?")
def softmax_squeezed(scores, axis=-1):
    return np.squeeze(right_weights(scores, axis))


@mistake("softmax_mutates_input", "softmax")
@says("The exponentials are written into the caller's scores.")
@hint("Are the scores that you were given still the same afterwards?")
def softmax_mutates_input(scores, axis=-1):
    maximum = np.max(scores, axis=axis, keepdims=True)
    scores -= np.where(maximum == -np.inf, 0.0, maximum).astype(scores.dtype)
    np.exp(scores, out=scores)
    return safe_ratio(scores, scores.sum(axis=axis, keepdims=True))


@mistake("np_input_mutated", "softmax")
@says("Minus infinity is replaced by a finite number inside the caller's scores.")
@hint("In whose array do you replace the infinities?")
def softmax_replaces_infinities(scores, axis=-1):
    blocked = scores == -np.inf
    scores[blocked] = -1e30
    return np.where(blocked, 0.0, right_weights(scores, axis))


@mistake("np_returns_alias", "softmax")
@says("A later call overwrites the array that an earlier call has returned.")
@hint("Is the array that you return kept anywhere for the next call?")
def softmax_reused_buffer(scores, axis=-1):
    weights = weight_buffers.setdefault(scores.shape, np.empty(scores.shape))
    weights[...] = right_weights(scores, axis)
    return weights


@mistake("np_memoised_on_shape", "softmax")
@says("The answer of an earlier call is given again to any scores of the same shape.")
@hint("What else does a stored answer depend on, besides a shape?")
def softmax_memoised_on_shape(scores, axis=-1):
    key = scores.shape, axis
    if key not in weights_before:
        weights_before[key] = right_weights(scores, axis)
    return weights_before[key].copy()


@mistake("np_module_state", "softmax")
@says("The sums of earlier calls are added to the sum of this one.")
@hint("Does your answer depend on what was called before?")
def softmax_sums_pile_up(scores, axis=-1):
    exponentials = safe_exponentials(scores, axis)
    key = scores.shape, axis
    totals_so_far[key] = totals_so_far.get(key, 0.0) + exponentials.sum(axis=axis, keepdims=True)
    return safe_ratio(exponentials, totals_so_far[key])


@mistake("softmax_sum_unshifted", "softmax")
@says("The maximum is subtracted above the line, but not in the sum that divides.")
@hint("Which numbers does the sum add up: the same that you divide?")
def softmax_sum_unshifted(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = np.exp(scores).sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


@mistake("softmax_log_returned", "softmax")
@says("The logarithms of the weights are returned.")
@hint("What do the weights of a row add up to?")
def softmax_log_returned(scores, axis=-1):
    with np.errstate(divide="ignore"):
        return np.log(right_weights(scores, axis))


@mistake("softmax_divided_by_scores", "softmax")
@says("The exponentials are divided by the sum of the scores.")
@hint("Which numbers should add up to 1?")
def softmax_divided_by_scores(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return e / scores.sum(axis=axis, keepdims=True)


@mistake("softmax_divides_by_maximum", "softmax")
@says("The scores are divided by their maximum, where it should be subtracted.")
@hint("Which change of all scores leaves their softmax as it is?")
def softmax_divides_by_maximum(scores, axis=-1):
    e = np.exp(scores / np.max(scores, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@mistake("softmax_hidden_become_zero", "softmax")
@says("Scores of minus infinity are replaced by 0, so what is hidden gets a weight.")
@hint("What is the exponential of minus infinity, and what that of 0?")
def softmax_hidden_become_zero(scores, axis=-1):
    return right_weights(np.where(np.isneginf(scores), 0, scores), axis)
