"""Known wrong versions of step 11, each with one mistake."""

import math

import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from exercises.step10_cross_attention import cross_attention
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}
kept_statistics = {}
kept_results = {}
kept_masks = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def standardised(x, axis=-1, eps=1e-5):
    """Return x with mean 0 and variance 1 along the axis."""
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + eps)


def inner(x):
    """Return the argument of gelu's tanh."""
    return np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(inner(x)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normed(x, norm):
    """Return a right layer norm with the gain and bias of that dict."""
    return standardised(x) * norm["gain"] + norm["bias"]


def normed_in_place(x, norm):
    """Return the same, but standardise x itself as well."""
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
    return x * norm["gain"] + norm["bias"]


def fed(x, params):
    """Apply a right feed-forward network."""
    return linear(tanh_gelu(linear(x, params["w_in"], params["b_in"])), *outward(params))


def outward(params):
    """Apply the second of the two linear maps."""
    return params["w_out"], params["b_out"]


def attended(x, params, n_heads, mask):
    """Apply the first half: attention of ln_1."""
    return multi_head_attention(normed(x, params["ln_1"]), params["attention"], n_heads, mask)


def refined(x, params):
    """Apply the second half: feed-forward of ln_2."""
    return fed(normed(x, params["ln_2"]), params["feed_forward"])


def by_weights(x, params, n_heads, weights_of):
    """Return multi-head attention whose weights come from a function of the scores."""
    q, k, v = (split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv")
    weights = weights_of(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return linear(merge_heads(weights @ v), params["w_o"], params["b_o"])


# layer_norm: whose mean and variance


@mistake("ln_over_time", "layer_norm")
@says("Mean and variance are taken along time, so every position reads later ones.")
@hint("Whose numbers do you average: one token's features, or one feature's history?")
def ln_over_time(x, gain, bias, eps=1e-5):
    return standardised(x, -2, eps) * gain + bias


@mistake("ln_over_time_and_features", "layer_norm")
@says("One mean and one variance are taken of a whole text, later positions included.")
@hint("Would token 0 be normalised differently if the text went on?")
def ln_over_time_and_features(x, gain, bias, eps=1e-5):
    return standardised(x, (-2, -1), eps) * gain + bias


@mistake("ln_over_time_and_features", "layer_norm")
@says("One mean and one variance are taken of the whole array, all texts and positions in it.")
@hint("How many means should there be for 3 texts of 2 tokens, and how many are there?")
def ln_over_all(x, gain, bias, eps=1e-5):
    return standardised(x, None, eps) * gain + bias


@mistake("ln_over_batch", "layer_norm")
@says("Mean and variance are taken along the first axis, as a batch norm does.")
@hint("Does the result for text 0 change when text 1 does?")
def ln_over_batch(x, gain, bias, eps=1e-5):
    return standardised(x, 0, eps) * gain + bias


@mistake("ln_over_past", "layer_norm")
@says("Mean and variance are taken of all positions up to the own one.")
@hint("Does a token's result need to know which tokens came before it?")
def ln_over_past(x, gain, bias, eps=1e-5):
    rows = [standardised(x[..., : t + 1, :], (-2, -1), eps) for t in range(x.shape[-2])]
    return np.stack([row[..., -1, :] for row in rows], axis=-2) * gain + bias


@mistake("ln_centred_over_time", "layer_norm")
@says("The mean is taken along time, and only the variance along the features.")
@hint("Along which axis is each of your two averages taken?")
def ln_centred_over_time(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-2, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_scaled_over_time", "layer_norm")
@says("The variance is taken along time, and only the mean along the features.")
@hint("Along which axis is each of your two averages taken?")
def ln_scaled_over_time(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-2, keepdims=True) + eps) * gain + bias


@mistake("np_hardcoded_axis", "layer_norm")
@says("The axis is number 1, which is that of the features only where there is no batch.")
@hint("What is axis 1 when x is (batch, time, feature)?")
def ln_axis_one(x, gain, bias, eps=1e-5):
    return standardised(x, 1, eps) * gain + bias


@mistake("ln_keepdims_missing", "layer_norm")
@says("Mean and variance lose their axis, so they do not line up with their rows.")
@hint("What shape has the mean that you subtract, and what shape has x?")
def ln_keepdims_missing(x, gain, bias, eps=1e-5):
    return (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + eps) * gain + bias


# layer_norm: which mean and variance


@mistake("ln_ddof1", "layer_norm")
@says("The variance is divided by one less than the number of features.")
@hint("By which number does the docstring divide the sum of squares?")
def ln_ddof1(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    number = max(x.shape[-1] - 1, 1)
    variance = (centred**2).sum(axis=-1, keepdims=True) / number
    return centred / np.sqrt(variance + eps) * gain + bias


@mistake("ln_ddof1", "layer_norm")
@says("The variance is divided by one less than the number of features, as with NumPy's ddof=1.")
@hint("By which number does the docstring divide the sum of squares?")
def ln_ddof1_of_numpy(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True, ddof=1)
    return centred / np.sqrt(variance + eps) * gain + bias


@mistake("ln_ddof1", "layer_norm")
@says("The spread is NumPy's std with ddof=1, and eps is added to it after the root.")
@hint("By which number does the docstring divide the squares, and what is under the root?")
def ln_ddof1_std(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.std(axis=-1, keepdims=True, ddof=1) + eps) * gain + bias


@mistake("ln_sum_of_squares", "layer_norm")
@says("The squares are added up and not averaged.")
@hint("What is the variance of your result, and what should it be?")
def ln_sum_of_squares(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).sum(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_no_sqrt_or_square", "layer_norm")
@says("The features are divided by their variance instead of its root.")
@hint("What is the spread of your result, and what becomes of it when x is twice as large?")
def ln_no_sqrt(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.var(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_no_division", "layer_norm")
@says("The mean is taken off, but nothing is divided by the spread.")
@hint("What is the spread of your result, and what becomes of it when x is twice as large?")
def ln_no_division(x, gain, bias, eps=1e-5):
    return (x - x.mean(axis=-1, keepdims=True)) * gain + bias


@mistake("ln_mean_absolute", "layer_norm")
@says("The spread is the mean distance from the mean, not the root of the mean square.")
@hint("Which power is averaged in a variance?")
def ln_mean_absolute(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (np.abs(centred).mean(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_no_mean_subtraction", "layer_norm")
@says("The mean is never subtracted: the features are divided by their root mean square.")
@hint("Without gain and bias, what is the mean of a row of your result?")
def ln_rms(x, gain, bias, eps=1e-5):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_no_mean_subtraction", "layer_norm")
@says("The features are divided by their spread, but their mean is not taken off.")
@hint("Without gain and bias, what is the mean of a row of your result?")
def ln_not_centred(x, gain, bias, eps=1e-5):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_variance_sign", "layer_norm")
@says("The square of the mean is added to the mean of the squares, not taken off.")
@hint("Work out the variance of 1, 2, 3 by hand, in both ways: are they the same?")
def ln_variance_sign(x, gain, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = (x**2).mean(axis=-1, keepdims=True) + mean**2
    return (x - mean) / np.sqrt(variance + eps) * gain + bias


@mistake("ln_variance_not_centred", "layer_norm")
@says("The squares that are averaged are those of x, with the mean still in it.")
@hint("Variance is the mean square of what?")
def ln_variance_not_centred(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_variance_by_squares", "layer_norm")
@says("The variance is a difference of two huge numbers where all features are large.")
@hint("How many digits are left when two numbers of a million millions are subtracted?")
def ln_variance_by_squares(x, gain, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = (x**2).mean(axis=-1, keepdims=True) - mean**2
    return (x - mean) / np.sqrt(variance + eps) * gain + bias


# layer_norm: eps


@mistake("ln_eps_outside_sqrt", "layer_norm")
@says("eps is added after the root.")
@hint("Is eps added to the variance or to the standard deviation?")
def ln_eps_outside_sqrt(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.std(axis=-1, keepdims=True) + eps) * gain + bias


@mistake("ln_eps_squared", "layer_norm")
@says("The square of eps is added to the variance.")
@hint("Is eps a variance or a standard deviation?")
def ln_eps_squared(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps**2) * gain + bias


@mistake("ln_no_eps", "layer_norm")
@says("eps is left out.")
@hint("Normalise a row of identical numbers.")
def ln_no_eps(x, gain, bias, eps=1e-5):
    return standardised(x, -1, 0.0) * gain + bias


@mistake("ln_eps_fixed", "layer_norm")
@says("The argument eps is not used: 1e-5 is used instead.")
@hint("Follow the argument eps through your function: where does it act?")
def ln_eps_fixed(x, gain, bias, eps=1e-5):
    return standardised(x) * gain + bias


@mistake("ln_eps_fixed", "layer_norm")
@says("eps is 1e-6 where none is given.")
@hint("Which eps does the docstring name?")
def ln_smaller_eps(x, gain, bias, eps=1e-6):
    return standardised(x, -1, eps) * gain + bias


@mistake("ln_eps_fixed", "layer_norm")
@says("The argument eps is not used: 1e-6 is used instead.")
@hint("Follow the argument eps through your function: where does it act?")
def ln_smaller_eps_fixed(x, gain, bias, eps=1e-5):
    return standardised(x, -1, 1e-6) * gain + bias


@mistake("ln_eps_fixed", "layer_norm")
@says("The argument eps is not used: 1e-8 is used instead.")
@hint("Follow the argument eps through your function: where does it act?")
def ln_tiny_eps_fixed(x, gain, bias, eps=1e-5):
    return standardised(x, -1, 1e-8) * gain + bias


@mistake("ln_eps_fixed", "layer_norm")
@says("eps is 1e-12 where none is given.")
@hint("Which eps does the docstring name?")
def ln_tiny_eps(x, gain, bias, eps=1e-12):
    return standardised(x, -1, eps) * gain + bias


@mistake("ln_spread_clipped", "layer_norm")
@says("The variance is raised to eps where it is smaller, and otherwise eps is not added.")
@hint("What does the docstring do with eps: add it, or compare with it?")
def ln_spread_clipped(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.maximum(x.var(axis=-1, keepdims=True), eps)) * gain + bias


# layer_norm: gain and bias


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("Gain and bias are left out.")
@hint("Follow the arguments gain and bias through your function: where do they act?")
def ln_no_affine(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps)


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("The gain is left out.")
@hint("Follow the argument gain through your function: where does it act?")
def ln_no_gain(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps) + bias


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("The bias is left out.")
@hint("Follow the argument bias through your function: where does it act?")
def ln_no_bias(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps) * gain


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("The bias is added before the gain, and is multiplied by it too.")
@hint("Is the bias multiplied by anything in the formula?")
def ln_bias_before_gain(x, gain, bias, eps=1e-5):
    return (standardised(x, -1, eps) + bias) * gain


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("Gain and bias are exchanged.")
@hint("Which of the two is multiplied, and which is added?")
def ln_gain_bias_swapped(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps) * bias + gain


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("One is added to the gain, as if it were stored as the difference from 1.")
@hint("With a gain of 1 throughout, what should the gain change?")
def ln_gain_plus_one(x, gain, bias, eps=1e-5):
    return standardised(x, -1, eps) * (1 + gain) + bias


@mistake("ln_affine_missing_or_misordered", "layer_norm")
@says("Gain and bias are applied to x, and what comes out is normalised.")
@hint("Which comes first, the norm or the gain?")
def ln_affine_first(x, gain, bias, eps=1e-5):
    return standardised(x * gain + bias, -1, eps)


# layer_norm: NumPy


@mistake("np_squeeze_kills_axis", "layer_norm")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_norm(x, gain, bias, eps=1e-5):
    return np.squeeze(standardised(x, -1, eps) * gain + bias)


@mistake("np_float32_downcast", "layer_norm")
@says("x is rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_norm(x, gain, bias, eps=1e-5):
    return standardised(x.astype(np.float32), -1, eps) * gain + bias


@mistake("np_half_precision", "layer_norm")
@says("float32 features are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_norm(x, gain, bias, eps=1e-5):
    if x.dtype == np.float32:
        x = x.astype(np.float16).astype(np.float32)
    return standardised(x, -1, eps) * gain + bias


@mistake("np_memoised_on_shape", "layer_norm")
@says("The first mean and variance are kept for every later x of the same shape.")
@hint("What do mean and variance depend on besides the shape of x?")
def np_memoised_on_shape_norm(x, gain, bias, eps=1e-5):
    key = (x.shape, x.dtype)
    if key not in kept_statistics:
        kept_statistics[key] = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    mean, variance = kept_statistics[key]
    return (x - mean) / np.sqrt(variance + eps) * gain + bias


@mistake("out_returns_view", "layer_norm")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_norm(x, gain, bias, eps=1e-5):
    return in_the_same_array(standardised(x, -1, eps) * gain + bias)


@mistake("np_input_mutated", "layer_norm")
@says("The mean is subtracted inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_norm(x, gain, bias, eps=1e-5):
    variance = x.var(axis=-1, keepdims=True)
    x -= x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(variance + eps) * gain + bias


# gelu


@mistake("ffn_wrong_activation", "gelu")
@says("This is the exact gelu, with the error function, not the tanh form.")
@hint("There are two forms of gelu, less than a thousandth apart: which one is asked for?")
def gelu_exact(x):
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))


@mistake("ffn_wrong_activation", "gelu")
@says("This is relu: negative numbers become 0.")
@hint("What should become of a number a little below 0?")
def gelu_relu(x):
    return np.maximum(x, 0)


@mistake("ffn_wrong_activation", "gelu")
@says("This is the approximation by a sigmoid of 1.702 x, not the tanh form.")
@hint("There are several approximations of gelu: which one is asked for?")
def gelu_sigmoid(x):
    return x * sigmoid(1.702 * x)


@mistake("ffn_wrong_activation", "gelu")
@says("This is silu, x times its sigmoid.")
@hint("What is x multiplied by in the docstring?")
def gelu_silu(x):
    return x * sigmoid(x)


@mistake("ffn_wrong_activation", "gelu")
@says("Only the tanh is returned.")
@hint("What should a large number become?")
def gelu_only_tanh(x):
    return np.tanh(inner(x))


@mistake("gelu_without_x", "gelu")
@says("The factor x is missing: only the share that is let through is returned.")
@hint("What should a large number become?")
def gelu_without_x(x):
    return 0.5 * (1 + np.tanh(inner(x)))


@mistake("gelu_half_missing", "gelu")
@says("The result is twice as large as it should be.")
@hint("What should a large number become?")
def gelu_half_missing(x):
    return x * (1 + np.tanh(inner(x)))


@mistake("gelu_one_missing", "gelu")
@says("The 1 beside the tanh is missing, so negative numbers come out positive.")
@hint("Between which two numbers lies the factor that x/2 is multiplied by?")
def gelu_one_missing(x):
    return 0.5 * x * np.tanh(inner(x))


@mistake("gelu_tanh_outside", "gelu")
@says("x/2 is multiplied by the 1 alone, and the tanh is added to that: a bracket is missing.")
@hint("Compare the brackets in your line with those of the docstring.")
def gelu_tanh_outside(x):
    return 0.5 * x * 1 + np.tanh(inner(x))


@mistake("gelu_wrong_constant", "gelu")
@says("The cubic term is left out.")
@hint("Compare what you take the tanh of with the docstring, term by term.")
def gelu_no_cubic(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x))


@mistake("gelu_wrong_constant", "gelu")
@says("x is squared where it should be cubed.")
@hint("Compare what you take the tanh of with the docstring, term by term.")
def gelu_square(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**2)))


@mistake("gelu_wrong_constant", "gelu")
@says("The factor of the cubic term is taken to the third power together with x.")
@hint("What exactly does the exponent apply to?")
def gelu_cubed_constant(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + (0.044715 * x) ** 3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The factor of the cubic term is 0.44715, ten times too large.")
@hint("Compare the numbers in your line with those of the docstring, digit by digit.")
def gelu_cubic_ten_times(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.44715 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The factor of the cubic term is rounded to 0.0447.")
@hint("Compare the numbers in your line with those of the docstring, digit by digit.")
def gelu_cubic_rounded(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.0447 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The root is not taken of 2/π.")
@hint("Compare what you take the tanh of with the docstring, term by term.")
def gelu_no_root(x):
    return 0.5 * x * (1 + np.tanh(2 / np.pi * (x + 0.044715 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The fraction under the root is upside down, π/2.")
@hint("Compare what you take the tanh of with the docstring, term by term.")
def gelu_fraction_inverted(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(np.pi / 2) * (x + 0.044715 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The root is taken of 2 alone: the constant is √2/π, not √(2/π).")
@hint("Compare the brackets in your line with those of the docstring.")
def gelu_root_of_two_only(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2) / np.pi * (x + 0.044715 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("The factor √(2/π) inside the tanh is left out.")
@hint("Compare what you take the tanh of with the docstring, term by term.")
def gelu_no_factor(x):
    return 0.5 * x * (1 + np.tanh(x + 0.044715 * x**3))


@mistake("gelu_wrong_constant", "gelu")
@says("√(2/π) multiplies only x and not the cubic term.")
@hint("Compare the brackets in your line with those of the docstring.")
def gelu_bracket_misplaced(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x + 0.044715 * x**3))


@mistake("gelu_wrong_constant", "gelu")
@says("√(2/π) is rounded to four digits.")
@hint("How many correct digits do you expect from float64, and how many has your constant?")
def gelu_rounded_constant(x):
    return 0.5 * x * (1 + np.tanh(0.7979 * (x + 0.044715 * x**3)))


@mistake("gelu_wrong_constant", "gelu")
@says("√(2/π) is written with eight digits, which are enough for float32 only.")
@hint("How many correct digits do you expect from float64, and how many has your constant?")
def gelu_constant_of_float32(x):
    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))


@mistake("gelu_tanh_by_exp", "gelu")
@says("The tanh is a quotient of two exponentials, and both overflow.")
@hint("What is infinity divided by infinity, and which function has this worked out already?")
def gelu_tanh_by_exp(x):
    z = inner(x)
    return 0.5 * x * (1 + (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z)))


@mistake("gelu_tanh_by_exp", "gelu")
@says("The tanh is made of one exponential, which overflows for large positive numbers.")
@hint("What is infinity divided by infinity, and which function has this worked out already?")
def gelu_tanh_by_one_exp(x):
    e = np.exp(2 * inner(x))
    return 0.5 * x * (1 + (e - 1) / (e + 1))


@mistake("gelu_saturates", "gelu")
@says("x is cut off at ±6, so large numbers stop growing.")
@hint("What should gelu do with a thousand?")
def gelu_saturates(x):
    return tanh_gelu(np.clip(x, -6, 6))


@mistake("np_squeeze_kills_axis", "gelu")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_gelu(x):
    return np.squeeze(tanh_gelu(x))


@mistake("np_hardcoded_rank", "gelu")
@says("The result is put together for one batch axis at most.")
@hint("What shape comes out if x has four axes?")
def np_hardcoded_rank_gelu(x):
    return tanh_gelu(x) if x.ndim < 3 else tanh_gelu(x).reshape(-1, *x.shape[-2:])


@mistake("np_float32_downcast", "gelu")
@says("x is rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_gelu(x):
    return tanh_gelu(x.astype(np.float32))


@mistake("np_half_precision", "gelu")
@says("float32 numbers are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_gelu(x):
    return tanh_gelu(x.astype(np.float16) if x.dtype == np.float32 else x)


@mistake("np_memoised_on_shape", "gelu")
@says("A result is kept and given again for every later x of the same shape.")
@hint("What does the result depend on besides the shape of x?")
def np_memoised_on_shape_gelu(x):
    key = (x.shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = tanh_gelu(x)
    return kept_results[key]


@mistake("out_returns_view", "gelu")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_gelu(x):
    return in_the_same_array(tanh_gelu(x))


@mistake("np_input_mutated", "gelu")
@says("The result is written into the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_gelu(x):
    x *= 0.5 * (1 + np.tanh(inner(x)))
    return x


# feed_forward


@mistake("ffn_no_activation", "feed_forward")
@says("There is nothing between the two linear maps.")
@hint("What would make two matrices collapse into one?")
def ffn_no_activation(x, params):
    return linear(linear(x, params["w_in"], params["b_in"]), *outward(params))


@mistake("ffn_activation_misplaced", "feed_forward")
@says("gelu comes after the second linear map instead of between the two.")
@hint("Can your network ever add a large negative number to the stream?")
def ffn_activation_last(x, params):
    return gelu(linear(linear(x, params["w_in"], params["b_in"]), *outward(params)))


@mistake("ffn_activation_misplaced", "feed_forward")
@says("gelu comes after each of the two linear maps, the second one too.")
@hint("Can your network ever add a large negative number to the stream?")
def ffn_activation_twice(x, params):
    return gelu(fed(x, params))


@mistake("ffn_activation_misplaced", "feed_forward")
@says("gelu is applied to x, before the first linear map.")
@hint("How wide is the array that gelu is applied to: d_model, or d_ff?")
def ffn_activation_first(x, params):
    return linear(linear(gelu(x), params["w_in"], params["b_in"]), *outward(params))


@mistake("ffn_wrong_activation", "feed_forward")
@says("The function between the linear maps is relu.")
@hint("Which function of this step belongs between the two linear maps?")
def ffn_relu(x, params):
    hidden = np.maximum(linear(x, params["w_in"], params["b_in"]), 0)
    return linear(hidden, *outward(params))


@mistake("ffn_wrong_activation", "feed_forward")
@says("The function between the linear maps is tanh.")
@hint("Which function of this step belongs between the two linear maps?")
def ffn_tanh(x, params):
    return linear(np.tanh(linear(x, params["w_in"], params["b_in"])), *outward(params))


@mistake("ffn_bias_missing", "feed_forward")
@says("Neither bias is added.")
@hint("Which of the four parameters have an influence on your result?")
def ffn_no_biases(x, params):
    return linear(gelu(linear(x, params["w_in"])), params["w_out"])


@mistake("ffn_bias_missing", "feed_forward")
@says("b_in is not added.")
@hint("Which of the four parameters have an influence on your result?")
def ffn_no_b_in(x, params):
    return linear(gelu(linear(x, params["w_in"])), *outward(params))


@mistake("ffn_bias_missing", "feed_forward")
@says("b_out is not added.")
@hint("Which of the four parameters have an influence on your result?")
def ffn_no_b_out(x, params):
    return linear(gelu(linear(x, params["w_in"], params["b_in"])), params["w_out"])


@mistake("ffn_bias_after_activation", "feed_forward")
@says("b_in is added after gelu.")
@hint("Does the bias belong to the linear map or to what comes after it?")
def ffn_bias_after_activation(x, params):
    return linear(gelu(linear(x, params["w_in"])) + params["b_in"], *outward(params))


@mistake("proj_weight_transposed", "feed_forward")
@says("The two weights are transposed.")
@hint("Which axis of w_in must line up with the feature axis of x?")
def ffn_weights_transposed(x, params):
    hidden = gelu(linear(x, params["w_in"].T, params["b_in"]))
    return linear(hidden, params["w_out"].T, params["b_out"])


@mistake("ffn_weights_swapped", "feed_forward")
@says("w_out comes first and w_in second.")
@hint("What are the shapes of w_in and w_out, and which of them meets x?")
def ffn_weights_swapped(x, params):
    hidden = gelu(linear(x, params["w_out"], params["b_out"]))
    return linear(hidden, params["w_in"], params["b_in"])


@mistake("np_symmetric_shapes_only", "feed_forward")
@says("w_out is not used: the transpose of w_in is used instead.")
@hint("Which of the four parameters have an influence on your result?")
def ffn_tied_weights(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden, params["w_in"].T, params["b_out"])


@mistake("ffn_adds_residual", "feed_forward")
@says("x is added to the result, which is for the block to do.")
@hint("Who adds to the stream, this function or the one that calls it?")
def ffn_adds_residual(x, params):
    return x + fed(x, params)


@mistake("ffn_normalises", "feed_forward")
@says("x is normalised first, which is for the block to do.")
@hint("Which function of this step normalises, and where is its gain?")
def ffn_normalises(x, params):
    return fed(standardised(x), params)


@mistake("ffn_mixes_time", "feed_forward")
@says("The average over all positions is added to each, so all of them read later ones.")
@hint("Should this function ever look at another position?")
def ffn_pools(x, params):
    return fed(x + x.mean(axis=-2, keepdims=True), params)


@mistake("ffn_mixes_time", "feed_forward")
@says("The largest hidden values over all positions are added to each.")
@hint("Should this function ever look at another position?")
def ffn_pools_hidden(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden + hidden.max(axis=-2, keepdims=True), *outward(params))


@mistake("ffn_mixes_time", "feed_forward")
@says("The hidden values are divided by their largest one, of any position.")
@hint("Should this function ever look at another position?")
def ffn_hidden_scaled(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden / np.abs(hidden).max(), *outward(params))


@mistake("ffn_mixes_time", "feed_forward")
@says("The hidden values of the position before are added to each.")
@hint("Should this function ever look at another position?")
def ffn_reads_previous(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    before = np.zeros_like(hidden)
    before[..., 1:, :] = hidden[..., :-1, :]
    return linear(hidden + before, *outward(params))


@mistake("ffn_mixes_batch", "feed_forward")
@says("The average over the first axis is taken off, as a batch norm does.")
@hint("Does the result for text 0 change when text 1 does?")
def ffn_centres_batch(x, params):
    return fed(x - x.mean(axis=0, keepdims=True) if x.ndim > 2 else x, params)


@mistake("np_hardcoded_rank", "feed_forward")
@says("All batch axes come back as one.")
@hint("What shape comes out if x has four axes?")
def np_hardcoded_rank_ffn(x, params):
    return fed(x if x.ndim < 3 else x.reshape(-1, *x.shape[-2:]), params)


@mistake("np_squeeze_kills_axis", "feed_forward")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_ffn(x, params):
    return np.squeeze(fed(x, params))


@mistake("np_hardcoded_size", "feed_forward")
@says("Only the first four columns of w_in and rows of w_out are used, whatever d_ff is.")
@hint("Which number in your function comes from an example rather than from its input?")
def np_hardcoded_size_ffn(x, params):
    hidden = gelu(linear(x, params["w_in"][:, :4], params["b_in"][:4]))
    return linear(hidden, params["w_out"][:4], params["b_out"])


@mistake("gelu_tanh_by_exp", "feed_forward")
@says("The tanh of gelu is a quotient of two exponentials, and both overflow.")
@hint("What is infinity divided by infinity, and which function has this worked out already?")
def ffn_tanh_by_exp(x, params):
    hidden = linear(x, params["w_in"], params["b_in"])
    e = np.exp(2 * inner(hidden))
    return linear(0.5 * hidden * (1 + (e - 1) / (e + 1)), *outward(params))


@mistake("np_float32_downcast", "feed_forward")
@says("The hidden values are rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_ffn(x, params):
    hidden = linear(x, params["w_in"], params["b_in"]).astype(np.float32)
    return linear(gelu(hidden), *outward(params))


@mistake("np_half_precision", "feed_forward")
@says("Hidden values of float32 weights are stored in half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_ffn(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    if x.dtype == np.float32:
        hidden = hidden.astype(np.float16).astype(np.float32)
    return linear(hidden, *outward(params))


@mistake("np_memoised_on_shape", "feed_forward")
@says("The hidden values are kept and used for every later x of the same shape.")
@hint("What do the hidden values depend on besides the shape of x?")
def np_memoised_on_shape_ffn(x, params):
    key = (x.shape, params["w_in"].shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(kept_results[key], *outward(params))


@mistake("out_dropout_at_eval", "feed_forward")
@says("Half of the hidden values are dropped at random in every call.")
@hint("Call your function twice with the same input: are the answers the same?")
def ffn_dropout(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden * (np.random.rand(*hidden.shape) < 0.5) * 2, *outward(params))


@mistake("out_returns_view", "feed_forward")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_ffn(x, params):
    return in_the_same_array(fed(x, params))


@mistake("np_input_mutated", "feed_forward")
@says("w_out is taken out of the caller's dict for good.")
@hint("Call your function twice with the same `params`.")
def np_input_mutated_ffn(x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    return linear(hidden, params.pop("w_out"), params["b_out"])


# decoder_block: the stream, and what is added to it


@mistake("block_no_residual", "decoder_block")
@says("Nothing is added to x: each half replaces it by its own result.")
@hint("Could the block pass its input through unchanged?")
def block_no_residual(x, params, n_heads, mask):
    return refined(attended(x, params, n_heads, mask), params)


@mistake("block_no_residual", "decoder_block")
@says("The result of attention replaces x instead of being added to it.")
@hint("If attention found nothing, what would be left of x?")
def block_no_first_residual(x, params, n_heads, mask):
    x = attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("block_no_residual", "decoder_block")
@says("The result of the feed-forward network replaces the stream instead of being added to it.")
@hint("If the feed-forward network returned zeros, what would be left of x?")
def block_no_second_residual(x, params, n_heads, mask):
    return refined(x + attended(x, params, n_heads, mask), params)


@mistake("block_residual_from_norm", "decoder_block")
@says("The normalised vectors are added to, in both halves, and not the stream itself.")
@hint("What exactly travels along the residual stream?")
def block_residual_from_norm(x, params, n_heads, mask):
    h = normed(x, params["ln_1"])
    x = h + multi_head_attention(h, params["attention"], n_heads, mask)
    h = normed(x, params["ln_2"])
    return h + fed(h, params["feed_forward"])


@mistake("block_residual_from_norm", "decoder_block")
@says("Each norm changes the stream itself, and its half is added to what is left of that.")
@hint("What does `-=` in a function do to an array that the function was only lent?")
def block_norms_in_place(x, params, n_heads, mask):
    normal = normed_in_place(x, params["ln_1"])
    x = x + multi_head_attention(normal, params["attention"], n_heads, mask)
    normal = normed_in_place(x, params["ln_2"])
    return x + fed(normal, params["feed_forward"])


@mistake("block_residual_from_norm", "decoder_block")
@says("Attention is added to what ln_1 made of x, and not to x itself.")
@hint("What exactly travels along the residual stream, past attention?")
def block_first_residual_from_norm(x, params, n_heads, mask):
    x = normed(x, params["ln_1"]) + attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("block_residual_from_norm", "decoder_block")
@says("The feed-forward result is added to what ln_2 made, and not to the stream itself.")
@hint("What exactly travels along the residual stream, past the feed-forward network?")
def block_second_residual_from_norm(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return normed(x, params["ln_2"]) + refined(x, params)


@mistake("block_post_vs_pre_norm", "decoder_block")
@says("This is post-norm: each norm comes after its sum, and not before its half.")
@hint("Is the normalisation before or after the sum here?")
def block_post_norm(x, params, n_heads, mask):
    x = normed(x + multi_head_attention(x, params["attention"], n_heads, mask), params["ln_1"])
    return normed(x + fed(x, params["feed_forward"]), params["ln_2"])


@mistake("block_post_vs_pre_norm", "decoder_block")
@says("The results of the two halves are normalised before they are added, not their inputs.")
@hint("Does each norm come before its half or after it?")
def block_norm_of_results(x, params, n_heads, mask):
    y = multi_head_attention(x, params["attention"], n_heads, mask)
    x = x + normed(y, params["ln_1"])
    return x + normed(fed(x, params["feed_forward"]), params["ln_2"])


@mistake("block_double_residual", "decoder_block")
@says("x is added to itself, and the result of attention is lost.")
@hint("Is the result of attention in your sum?")
def block_attention_lost(x, params, n_heads, mask):
    x = x + x
    return x + refined(x, params)


@mistake("block_double_residual", "decoder_block")
@says("x comes twice into the first sum.")
@hint("With both halves silent, what does your block return?")
def block_first_residual_twice(x, params, n_heads, mask):
    x = x + (x + attended(x, params, n_heads, mask))
    return x + refined(x, params)


@mistake("block_second_residual_from_input", "decoder_block")
@says("The second sum starts from the block's input again, so what attention added is lost.")
@hint("Which x does the second sum continue from?")
def block_second_residual_from_input(x, params, n_heads, mask):
    return x + refined(x + attended(x, params, n_heads, mask), params)


@mistake("block_parallel", "decoder_block")
@says("Both halves read the block's input: the second does not see what attention added.")
@hint("What does the second half of the block receive?")
def block_parallel(x, params, n_heads, mask):
    return x + attended(x, params, n_heads, mask) + refined(x, params)


@mistake("block_order", "decoder_block")
@says("The feed-forward network comes first, attention second.")
@hint("Which half of the block comes first?")
def block_order(x, params, n_heads, mask):
    x = x + refined(x, params)
    return x + attended(x, params, n_heads, mask)


@mistake("block_order", "decoder_block")
@says("The feed-forward network comes first, with ln_1, and attention second, with ln_2.")
@hint("Which half of the block comes first?")
def block_order_of_halves(x, params, n_heads, mask):
    x = x + fed(normed(x, params["ln_1"]), params["feed_forward"])
    normal = normed(x, params["ln_2"])
    return x + multi_head_attention(normal, params["attention"], n_heads, mask)


@mistake("block_half_missing", "decoder_block")
@says("There is no feed-forward half.")
@hint("Which parameters have an influence on your result?")
def block_no_feed_forward(x, params, n_heads, mask):
    return x + attended(x, params, n_heads, mask)


@mistake("block_half_missing", "decoder_block")
@says("There is no attention half.")
@hint("Which parameters have an influence on your result?")
def block_no_attention(x, params, n_heads, mask):
    return x + refined(x, params)


@mistake("block_feeds_attention_only", "decoder_block")
@says("The second half reads what attention returned, without the stream that it was added to.")
@hint("What does the second half of the block receive?")
def block_feeds_attention_only(x, params, n_heads, mask):
    y = attended(x, params, n_heads, mask)
    return x + y + refined(y, params)


# decoder_block: the norms


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("Neither half reads a normalised x.")
@hint("How many normalisations does the block own, and how many does it use?")
def block_no_norms(x, params, n_heads, mask):
    x = x + multi_head_attention(x, params["attention"], n_heads, mask)
    return x + fed(x, params["feed_forward"])


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("Attention reads x without ln_1.")
@hint("How many normalisations does the block own, and how many does it use?")
def block_no_first_norm(x, params, n_heads, mask):
    x = x + multi_head_attention(x, params["attention"], n_heads, mask)
    return x + refined(x, params)


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("The feed-forward network reads the stream without ln_2.")
@hint("How many normalisations does the block own, and how many does it use?")
def block_no_second_norm(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return x + fed(x, params["feed_forward"])


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("ln_1 is used in both places.")
@hint("Whose gain and bias does each of the two norms use?")
def block_first_norm_twice(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return x + fed(normed(x, params["ln_1"]), params["feed_forward"])


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("ln_2 is used in both places.")
@hint("Whose gain and bias does each of the two norms use?")
def block_second_norm_twice(x, params, n_heads, mask):
    h = normed(x, params["ln_2"])
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    return x + refined(x, params)


@mistake("block_norms_exchanged", "decoder_block")
@says("ln_1 and ln_2 are exchanged.")
@hint("Whose gain and bias does each of the two norms use?")
def block_norms_exchanged(x, params, n_heads, mask):
    h = normed(x, params["ln_2"])
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    return x + fed(normed(x, params["ln_1"]), params["feed_forward"])


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("Only the queries are normalised: keys and values are made of x as it is.")
@hint("What are the keys and values of the attention made of?")
def block_norm_on_queries_only(x, params, n_heads, mask):
    h = normed(x, params["ln_1"])
    x = x + cross_attention(h, x, params["attention"], n_heads, mask)
    return x + refined(x, params)


@mistake("block_norm_shared_or_skipped", "decoder_block")
@says("Only keys and values are normalised: the queries are made of x as it is.")
@hint("What are the queries of the attention made of?")
def block_norm_on_keys_only(x, params, n_heads, mask):
    h = normed(x, params["ln_1"])
    x = x + cross_attention(x, h, params["attention"], n_heads, mask)
    return x + refined(x, params)


@mistake("block_norm_repeated", "decoder_block")
@says("The second half normalises what ln_1 returned, and not the stream after the first sum.")
@hint("Which array goes through ln_2?")
def block_norm_of_norm(x, params, n_heads, mask):
    h = normed(x, params["ln_1"])
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    return x + refined(h, params)


@mistake("block_norm_repeated", "decoder_block")
@says("The stream is normalised once more at the end of the block.")
@hint("With both halves silent, what does your block return?")
def block_norm_at_the_end(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return normed(x + refined(x, params), params["ln_2"])


@mistake("ln_affine_missing_or_misordered", "decoder_block")
@says("The norms of the block use neither gains nor biases.")
@hint("Which parameters have an influence on your result?")
def block_norms_without_params(x, params, n_heads, mask):
    h = standardised(x)
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    return x + fed(standardised(x), params["feed_forward"])


@mistake("ln_affine_missing_or_misordered", "decoder_block")
@says("The norms of the block get their gain as bias and their bias as gain.")
@hint("In which order does layer_norm take gain and bias?")
def block_norms_swapped_params(x, params, n_heads, mask):
    one, two = ({"gain": n["bias"], "bias": n["gain"]} for n in (params["ln_1"], params["ln_2"]))
    x = x + multi_head_attention(normed(x, one), params["attention"], n_heads, mask)
    return x + fed(normed(x, two), params["feed_forward"])


@mistake("ln_over_time", "decoder_block")
@says("The norms of the block run along time, so they bring back what the mask keeps out.")
@hint("Which parts of the block let one position read another, and which should not?")
def block_norms_over_time(x, params, n_heads, mask):
    h = standardised(x, -2) * params["ln_1"]["gain"] + params["ln_1"]["bias"]
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    h = standardised(x, -2) * params["ln_2"]["gain"] + params["ln_2"]["bias"]
    return x + fed(h, params["feed_forward"])


@mistake("ln_over_time_and_features", "decoder_block")
@says("The norms of the block take one mean and one variance of a whole text.")
@hint("Which parts of the block let one position read another, and which should not?")
def block_norms_over_text(x, params, n_heads, mask):
    h = standardised(x, (-2, -1)) * params["ln_1"]["gain"] + params["ln_1"]["bias"]
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    h = standardised(x, (-2, -1)) * params["ln_2"]["gain"] + params["ln_2"]["bias"]
    return x + fed(h, params["feed_forward"])


@mistake("ln_over_batch", "decoder_block")
@says("The norms of the block run along the first axis of a batch.")
@hint("Does the result for text 0 change when text 1 does?")
def block_norms_over_batch(x, params, n_heads, mask):
    axis = -1 if x.ndim == 2 else 0
    h = standardised(x, axis) * params["ln_1"]["gain"] + params["ln_1"]["bias"]
    x = x + multi_head_attention(h, params["attention"], n_heads, mask)
    return x + refined(x, params)


# decoder_block: the mask, and the other ways in which positions could meet


@mistake("mask_none", "decoder_block")
@says("The mask is accepted but not passed on to the attention.")
@hint("Follow the argument `mask` through your function: where does it act?")
def block_mask_none(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, None)
    return x + refined(x, params)


@mistake("mask_inverted_polarity", "decoder_block")
@says("The mask is turned around: what it allows is blocked, and the rest is seen.")
@hint("Say in words what True means in a mask, then read the line that uses it.")
def block_mask_inverted(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, ~mask)
    return x + refined(x, params)


@mistake("mask_transposed", "decoder_block")
@says("Queries and keys are exchanged in the mask.")
@hint("Which axis of the mask belongs to the queries?")
def block_mask_transposed(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, np.swapaxes(mask, -1, -2))
    return x + refined(x, params)


@mistake("mask_replaced", "decoder_block")
@says("The mask is not used: a causal one is made in its place, and padding is seen.")
@hint("Who decides which keys are seen, this function or the one that calls it?")
def block_mask_replaced(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, np.tri(x.shape[-2], dtype=bool))
    return x + refined(x, params)


@mistake("mask_causal_in_bidirectional_op", "decoder_block")
@says("A causal mask is put on top of the one that is given.")
@hint("Who decides which keys are seen, this function or the one that calls it?")
def block_mask_and_causal(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask & np.tri(x.shape[-2], dtype=bool))
    return x + refined(x, params)


@mistake("mask_strict_excludes_self", "decoder_block")
@says("A position may not attend to itself, whatever the mask says.")
@hint("Does your block change the mask before it passes it on?")
def block_mask_excludes_self(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask & ~np.eye(x.shape[-2], dtype=bool))
    return x + refined(x, params)


@mistake("mask_first_batch_only", "decoder_block")
@says("All texts of a batch get the mask of the first.")
@hint("Does the second text of a batch have a mask of its own?")
def block_mask_of_first_text(x, params, n_heads, mask):
    first = mask[(0,) * (mask.ndim - 2)] if mask.ndim > 2 else mask
    x = x + attended(x, params, n_heads, first)
    return x + refined(x, params)


@mistake("heads_mask_one_head_only", "decoder_block")
@says("The mask reaches the first head only.")
@hint("How many heads have to obey the mask?")
def block_mask_first_head_only(x, params, n_heads, mask):
    def weights_of(scores):
        blocked = np.zeros(scores.shape, dtype=bool)
        blocked[..., 0, :, :] = ~mask
        e = np.exp(np.where(blocked, -np.inf, scores - scores.max(axis=-1, keepdims=True)))
        total = e.sum(axis=-1, keepdims=True)
        return e / np.where(total > 0, total, 1)

    h = normed(x, params["ln_1"])
    x = x + by_weights(h, params["attention"], n_heads, weights_of)
    return x + refined(x, params)


@mistake("mask_after_softmax_no_renorm", "decoder_block")
@says("The mask sets weights to zero after the softmax has counted the blocked scores in.")
@hint("Who is in the sum that the softmax divides by?")
def block_mask_after_softmax(x, params, n_heads, mask):
    def weights_of(scores):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) * mask[..., None, :, :]

    if mask.ndim < 3:
        mask = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    h = normed(x, params["ln_1"])
    x = x + by_weights(h, params["attention"], n_heads, weights_of)
    return x + refined(x, params)


@mistake("feature_pooled_over_time", "decoder_block")
@says("The average over all positions is taken off x before the block begins.")
@hint("Does a summary of the whole text sneak into early positions?")
def block_centred_over_time(x, params, n_heads, mask):
    x = x - x.mean(axis=-2, keepdims=True)
    x = x + attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("feature_pooled_over_time", "decoder_block")
@says("The feed-forward half reads an average over all positions as well.")
@hint("Does a summary of the whole text sneak into early positions?")
def block_pools(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    h = normed(x, params["ln_2"])
    return x + fed(h + h.mean(axis=-2, keepdims=True), params["feed_forward"])


@mistake("conv_same_padding", "decoder_block")
@says("The feed-forward half reads the two neighbours of a position too, the next one included.")
@hint("Which side does your window reach?")
def block_reads_neighbours(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    h = normed(x, params["ln_2"])
    around = np.pad(h, [(0, 0)] * (h.ndim - 2) + [(1, 1), (0, 0)])
    window = (around[..., :-2, :] + around[..., 1:-1, :] + around[..., 2:, :]) / 3
    return x + fed(window, params["feed_forward"])


@mistake("np_gaming_leak", "decoder_block")
@says("Texts of more than eight positions are not masked.")
@hint("What does your block do with the mask of a longer text?")
def block_long_texts_unmasked(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask if x.shape[-2] <= 8 else None)
    return x + refined(x, params)


@mistake("score_scale_seq_len", "decoder_block")
@says("What attention adds is divided by the number of positions.")
@hint("Should the first position's result depend on how long the text is?")
def block_divided_by_length(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask) / x.shape[-2]
    return x + refined(x, params)


# decoder_block: heads


@mistake("heads_hardcoded_number", "decoder_block")
@says("n_heads is not used: there is one head.")
@hint("Follow the argument n_heads through your function: where does it act?")
def block_one_head(x, params, n_heads, mask):
    x = x + attended(x, params, 1, mask)
    return x + refined(x, params)


@mistake("heads_number_is_width", "decoder_block")
@says("The width of a head is passed where the number of heads is asked for.")
@hint("Is n_heads a number of heads or the width of one?")
def block_width_for_number(x, params, n_heads, mask):
    x = x + attended(x, params, x.shape[-1] // n_heads, mask)
    return x + refined(x, params)


# decoder_block: NumPy


@mistake("np_squeeze_kills_axis", "decoder_block")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_block(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return np.squeeze(x + refined(x, params))


@mistake("np_hardcoded_rank", "decoder_block")
@says("All batch axes come back as one.")
@hint("What shape comes out if x has four axes?")
def np_hardcoded_rank_block(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    x = x + refined(x, params)
    return x if x.ndim < 3 else x.reshape(-1, *x.shape[-2:])


@mistake("softmax_no_max", "decoder_block")
@says("The exponential of a large score overflows.")
@hint("Which of your earlier functions computes weights from any scores at all?")
def block_softmax_no_max(x, params, n_heads, mask):
    def weights_of(scores):
        allowed = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
        e = np.exp(np.where(np.expand_dims(allowed, -3), scores, -np.inf))
        total = e.sum(axis=-1, keepdims=True)
        return e / np.where(total > 0, total, 1)

    h = normed(x, params["ln_1"])
    x = x + by_weights(h, params["attention"], n_heads, weights_of)
    return x + refined(x, params)


@mistake("block_stream_clipped", "decoder_block")
@says("The stream is cut off at ±1000.")
@hint("What becomes of a large x on its way through your block?")
def block_stream_clipped(x, params, n_heads, mask):
    x = np.clip(x, -1000, 1000)
    x = x + attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("np_float32_downcast", "decoder_block")
@says("x is rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_block(x, params, n_heads, mask):
    x = x.astype(np.float32)
    x = x + attended(x, params, n_heads, mask).astype(np.float32)
    return x + refined(x, params)


@mistake("np_half_precision", "decoder_block")
@says("A float32 stream is kept in half precision.")
@hint("In which dtype do you keep the stream, and how many digits does it have?")
def np_half_precision_block(x, params, n_heads, mask):
    kept = np.float16 if x.dtype == np.float32 else np.float64
    x = (x + attended(x, params, n_heads, mask)).astype(kept).astype(x.dtype)
    return x + refined(x, params)


@mistake("np_memoised_on_shape", "decoder_block")
@says("What attention added is kept and added to every later x of the same shape.")
@hint("What does the result of attention depend on besides the shape of x?")
def np_memoised_on_shape_block(x, params, n_heads, mask):
    key = (x.shape, n_heads, mask.shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = attended(x, params, n_heads, mask)
    x = x + kept_results[key]
    return x + refined(x, params)


@mistake("np_memoised_on_shape", "decoder_block")
@says("The first mask of a shape is kept for every later one.")
@hint("Can two masks of the same shape differ?")
def block_mask_memoised(x, params, n_heads, mask):
    mask = kept_masks.setdefault(mask.shape, mask.copy())
    x = x + attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("out_dropout_at_eval", "decoder_block")
@says("A tenth of what each half adds is dropped at random in every call.")
@hint("Call your function twice with the same input: are the answers the same?")
def block_dropout(x, params, n_heads, mask):
    for half in (lambda x: attended(x, params, n_heads, mask), lambda x: refined(x, params)):
        y = half(x)
        x = x + y * (np.random.rand(*y.shape) < 0.9) / 0.9
    return x


@mistake("mask_one_for_all_refused", "decoder_block")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(x, params, n_heads, mask):
    each = mask is not None and x.ndim == mask.ndim > 2
    mask = mask[np.arange(len(x))] if each else mask
    x = x + attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("out_returns_view", "decoder_block")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_block(x, params, n_heads, mask):
    x = x + attended(x, params, n_heads, mask)
    return in_the_same_array(x + refined(x, params))


@mistake("np_input_mutated", "decoder_block")
@says("The result of attention is added into the caller's x.")
@hint("What does += do to an array that your function was only lent?")
def np_input_mutated_block(x, params, n_heads, mask):
    x += attended(x, params, n_heads, mask)
    return x + refined(x, params)


@mistake("np_input_mutated", "decoder_block")
@says("The parameters of the attention are taken out of the caller's dict for good.")
@hint("Call your function twice with the same `params`.")
def np_input_mutated_block_params(x, params, n_heads, mask):
    h = normed(x, params["ln_1"])
    x = x + multi_head_attention(h, params.pop("attention"), n_heads, mask)
    return x + refined(x, params)
