"""Known wrong versions of step 17, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from exercises.step11_block import gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def standardised(x, eps=1e-5):
    """Return x with mean 0 and variance 1, and the divisor."""
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return centred / spread, spread


def over_positions(array):
    """Return the sum over all positions."""
    return array.reshape(-1, array.shape[-1]).sum(axis=0)


def norm_back(d_out, x, gain, eps=1e-5):
    """Return a right gradient of layer norm."""
    n, spread = standardised(x, eps)
    d_n = d_out * gain
    d_x = d_n - d_n.mean(axis=-1, keepdims=True) - n * (d_n * n).mean(axis=-1, keepdims=True)
    return d_x / spread, over_positions(d_out * n), over_positions(d_out)


def slope_of_gelu(x):
    root = np.sqrt(2 / np.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * root * (1 + 3 * 0.044715 * x**2)


def slope_by_exponentials(x):
    """Return the slope of gelu, with a tanh made of exponentials that overflow."""
    with np.errstate(all="ignore"):
        power = np.exp(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        tanh = (power - 1) / (power + 1)
        inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * inner


def network_back(d_out, x, params, slope=slope_of_gelu):
    """Return a right gradient of feed-forward, by any slope of gelu."""
    inner = linear(x, params["w_in"], params["b_in"])
    d_hidden, d_w_out, d_b_out = linear_backward(d_out, gelu(inner), params["w_out"])
    d_x, d_w_in, d_b_in = linear_backward(d_hidden * slope(inner), x, params["w_in"])
    return d_x, {"w_in": d_w_in, "b_in": d_b_in, "w_out": d_w_out, "b_out": d_b_out}


def unshifted_backward(d_out, q, k, v, mask):
    """Return the gradient of attention whose exponentials are taken without a shift."""
    with np.errstate(all="ignore"):
        e = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
        e = e if mask is None else np.where(mask, e, 0.0)
        weights = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)
        d_weights = d_out @ np.swapaxes(v, -1, -2)
        d_scores = weights * (d_weights - (d_weights * weights).sum(axis=-1, keepdims=True))
        d_scores = d_scores / np.sqrt(q.shape[-1])
        turned = np.swapaxes(d_scores, -1, -2)
        return d_scores @ k, turned @ q, np.swapaxes(weights, -1, -2) @ d_out


def heads_back(d_out, x, params, n_heads, mask, back=attention_backward):
    """Return a right gradient of multi-head attention, by any gradient of attention."""
    mask = mask if mask is None or np.ndim(mask) < 3 else np.expand_dims(mask, -3)
    parts = [split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv"]
    merged = merge_heads(attention(*parts, mask))
    d_merged, d_w_o, d_b_o = linear_backward(d_out, merged, params["w_o"])
    grads, d_x = {"w_o": d_w_o, "b_o": d_b_o}, np.zeros_like(x)
    d_parts = back(split_heads(d_merged, n_heads), *parts, mask)
    for n, d in zip("qkv", d_parts, strict=True):
        part, grads[f"w_{n}"], grads[f"b_{n}"] = linear_backward(
            merge_heads(d), x, params[f"w_{n}"]
        )
        d_x = d_x + part
    return d_x, grads


def block_back(d_out, x, params, n_heads, mask, norm=norm_back, back=attention_backward):
    """Return a right gradient of a block, by any gradients of its norms and its attention."""
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, d_network = network_back(d_out, n_2, params["feed_forward"])
    part, d_gain_2, d_bias_2 = norm(d, middle, ln_2["gain"])
    d_middle = d_out + part
    d, d_attention = heads_back(d_middle, n_1, params["attention"], n_heads, mask, back)
    part, d_gain_1, d_bias_1 = norm(d, x, ln_1["gain"])
    return d_middle + part, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


# layer_norm_backward


@mistake("norm_grad_constants", "layer_norm_backward")
@says("Mean and spread are taken for constants: two of the three terms are missing.")
@hint("If one feature rises, what becomes of the mean, and what of the other features?")
def norm_constants(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return d_out * gain / standardised(x, eps)[1], d_gain, d_bias


@mistake("norm_grad_mean_constant", "layer_norm_backward")
@says("The mean is taken for a constant: the gradient of x does not add up to 0.")
@hint("Raise all features alike: what does the norm do, and what says your gradient?")
def norm_mean_constant(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    n, spread = standardised(x, eps)
    d_n = d_out * gain
    return (d_n - n * (d_n * n).mean(axis=-1, keepdims=True)) / spread, d_gain, d_bias


@mistake("norm_grad_spread_constant", "layer_norm_backward")
@says("The spread is taken for a constant: the term with n is missing.")
@hint("Stretch all features alike: what does the norm do, and what says your gradient?")
def norm_spread_constant(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    d_n = d_out * gain
    d_x = (d_n - d_n.mean(axis=-1, keepdims=True)) / standardised(x, eps)[1]
    return d_x, d_gain, d_bias


@mistake("norm_grad_gain_missing", "layer_norm_backward")
@says("The gradient of x does not know the gain.")
@hint("Through what does d_out go before it reaches the normalised features?")
def norm_gain_missing(d_out, x, gain, eps=1e-5):
    d_x, _, _ = norm_back(d_out, x, np.ones_like(gain), eps)
    return (d_x, *norm_back(d_out, x, gain, eps)[1:])


@mistake("norm_grad_gain_last", "layer_norm_backward")
@says("The gain is multiplied at the end, after the means that should contain it.")
@hint("In the forward pass, which came first: the norm or the gain? And backwards?")
def norm_gain_last(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, np.ones_like(gain), eps)
    return d_x * gain, d_gain, d_bias


@mistake("norm_grad_gain_of_x", "layer_norm_backward")
@says("The gradient of the gain is multiplied by x, not by the normalised features.")
@hint("By what is the gain multiplied on the way forward?")
def norm_gain_of_x(d_out, x, gain, eps=1e-5):
    d_x, _, d_bias = norm_back(d_out, x, gain, eps)
    return d_x, over_positions(d_out * x), d_bias


@mistake("norm_grad_gain_per_position", "layer_norm_backward")
@says("The gradients of gain and bias are not summed over the positions.")
@hint("Which shape has the gain, and which has your gradient of it?")
def norm_gain_per_position(d_out, x, gain, eps=1e-5):
    return norm_back(d_out, x, gain, eps)[0], d_out * standardised(x, eps)[0], d_out


@mistake("grad_batch_not_summed", "layer_norm_backward")
@says("The gradients of gain and bias are summed over time only, not over the batch.")
@hint("Which axes of d_out does the gain not have?")
def norm_batch_not_summed(d_out, x, gain, eps=1e-5):
    n = standardised(x, eps)[0]
    return norm_back(d_out, x, gain, eps)[0], (d_out * n).sum(axis=-2), d_out.sum(axis=-2)


@mistake("grad_mean_for_sum", "layer_norm_backward")
@says("The gradients of gain and bias are means over the positions, not sums.")
@hint("A gain that serves two positions changes the loss through both. Is that more, or half?")
def norm_mean_for_sum(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    count = x.size // x.shape[-1]
    return d_x, d_gain / count, d_bias / count


@mistake("norm_grad_sums_for_means", "layer_norm_backward")
@says("In the gradient of x the features are added up where they should be averaged.")
@hint("Is the mean of a row its sum? How much of the mean belongs to one feature?")
def norm_sums_for_means(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    n, spread = standardised(x, eps)
    d_n = d_out * gain
    d_x = d_n - d_n.sum(axis=-1, keepdims=True) - n * (d_n * n).sum(axis=-1, keepdims=True)
    return d_x / spread, d_gain, d_bias


@mistake("norm_grad_not_divided", "layer_norm_backward")
@says("The gradient of x is not divided by the spread.")
@hint("If x is ten times as large, the norm is the same. What becomes of its slope?")
def norm_not_divided(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return d_x * standardised(x, eps)[1], d_gain, d_bias


@mistake("norm_grad_by_variance", "layer_norm_backward")
@says("The gradient of x is divided by the variance, not by its root.")
@hint("If x is ten times as large, the norm is the same. What becomes of its slope?")
def norm_by_variance(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return d_x / standardised(x, eps)[1], d_gain, d_bias


@mistake("norm_grad_centred_for_normed", "layer_norm_backward")
@says("The third term has the centred features where the normalised ones belong.")
@hint("By what have the features been divided when the gain meets them?")
def norm_centred_for_normed(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    n, spread = standardised(x, eps)
    c, d_n = n * spread, d_out * gain
    d_x = d_n - d_n.mean(axis=-1, keepdims=True) - c * (d_n * c).mean(axis=-1, keepdims=True)
    return d_x / spread, d_gain, d_bias


@mistake("ln_eps_fixed", "layer_norm_backward")
@says("The argument eps is not used: the default is used instead.")
@hint("Follow the argument eps through your function: where does it act?")
def norm_eps_fixed(d_out, x, gain, eps=1e-5):
    return norm_back(d_out, x, gain)


@mistake("ln_eps_outside_sqrt", "layer_norm_backward")
@says("eps is added after the root.")
@hint("Is eps added to the variance or to the standard deviation?")
def norm_eps_outside(d_out, x, gain, eps=1e-5):
    deviation = standardised(x, 0.0)[1] + eps
    n = (x - x.mean(axis=-1, keepdims=True)) / deviation
    d_n = d_out * gain
    d_x = d_n - d_n.mean(axis=-1, keepdims=True) - n * (d_n * n).mean(axis=-1, keepdims=True)
    return d_x / deviation, over_positions(d_out * n), over_positions(d_out)


@mistake("ln_no_eps", "layer_norm_backward")
@says("eps is left out.")
@hint("What does your gradient do at a position whose features are nearly alike?")
def norm_no_eps(d_out, x, gain, eps=1e-5):
    with np.errstate(all="ignore"):
        return norm_back(d_out, x, gain, 0.0)


@mistake("ln_ddof1", "layer_norm_backward")
@says("The variance is divided by one less than the number of features.")
@hint("By which number does layer_norm divide the sum of squares?")
def norm_ddof1(d_out, x, gain, eps=1e-5):
    number = x.shape[-1]
    larger = eps * (number - 1) / number
    scale = np.sqrt((number - 1) / number)
    d_x, d_gain, d_bias = norm_back(d_out, x, gain * scale, larger)
    return d_x, d_gain * scale, d_bias


@mistake("norm_grad_over_time", "layer_norm_backward")
@says("The means in the gradient of x are taken along time, not over the features.")
@hint("Whose features made the mean of position 0?")
def norm_means_over_time(d_out, x, gain, eps=1e-5):
    _, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    n, spread = standardised(x, eps)
    d_n = d_out * gain
    d_x = d_n - d_n.mean(axis=-2, keepdims=True) - n * (d_n * n).mean(axis=-2, keepdims=True)
    return d_x / spread, d_gain, d_bias


@mistake("ln_variance_by_squares", "layer_norm_backward")
@says("The variance is a difference of two huge numbers where all features are large.")
@hint("How many digits are left when two numbers of a million millions are subtracted?")
def norm_variance_by_squares(d_out, x, gain, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        spread = np.sqrt((x**2).mean(axis=-1, keepdims=True) - mean**2 + eps)
    n, d_n = (x - mean) / spread, d_out * gain
    d_x = d_n - d_n.mean(axis=-1, keepdims=True) - n * (d_n * n).mean(axis=-1, keepdims=True)
    return d_x / spread, over_positions(d_out * n), over_positions(d_out)


@mistake("norm_grad_results_swapped", "layer_norm_backward")
@says("The gradients of gain and bias are swapped.")
@hint("In which order does the docstring name the results?")
def norm_results_swapped(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return d_x, d_bias, d_gain


@mistake("np_input_mutated", "layer_norm_backward")
@says("The caller's d_out is multiplied by the gain in place.")
@hint("What does *= do to an array that your function was only lent?")
def norm_in_place(d_out, x, gain, eps=1e-5):
    result = norm_back(d_out, x, gain, eps)
    d_out *= gain
    return result


@mistake("out_returns_view", "layer_norm_backward")
@says("The gradient of x lives in a buffer that the next call overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def norm_same_buffer(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return in_the_same_array(d_x), d_gain, d_bias


@mistake("np_squeeze_kills_axis", "layer_norm_backward")
@says("Axes of size one disappear from the gradient of x.")
@hint("Try a single position, or a batch of one sequence: are all axes still there?")
def norm_squeezed(d_out, x, gain, eps=1e-5):
    d_x, d_gain, d_bias = norm_back(d_out, x, gain, eps)
    return np.squeeze(d_x), d_gain, d_bias


@mistake("np_hardcoded_rank", "layer_norm_backward")
@says("The gradient of the gain sums over two axes, whatever number of batch axes there is.")
@hint("How many axes does x have without a batch, and how many with two batch axes?")
def norm_two_axes(d_out, x, gain, eps=1e-5):
    d_x, _, d_bias = norm_back(d_out, x, gain, eps)
    slopes = d_out * standardised(x, eps)[0]
    return d_x, slopes.sum(axis=(0, 1) if x.ndim > 2 else 0), d_bias


@mistake("np_half_precision", "layer_norm_backward")
@says("The normalised x of float32 numbers is kept in half precision.")
@hint("In which dtype do you keep the normalised x, and how many digits does it have?")
def norm_in_half(d_out, x, gain, eps=1e-5):
    n, spread = standardised(x, eps)
    if x.dtype == np.float32:
        n = n.astype(np.float16).astype(np.float32)
    d_n = d_out * gain
    d_x = d_n - d_n.mean(axis=-1, keepdims=True) - n * (d_n * n).mean(axis=-1, keepdims=True)
    return d_x / spread, over_positions(d_out * n), over_positions(d_out)


# gelu_backward


@mistake("gelu_grad_no_product_rule", "gelu_backward")
@says("The second term of the product rule is missing: x times the slope of the share.")
@hint("gelu is a product of two things that both depend on x. How many terms has its slope?")
def gelu_first_term_only(d_out, x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return d_out * 0.5 * (1 + t)


@mistake("gelu_grad_inner_slope_missing", "gelu_backward")
@says("The slope of what is inside the tanh is missing.")
@hint("The tanh is taken of a function of x. Which rule adds a factor for that?")
def gelu_inner_slope_missing(d_out, x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return d_out * (0.5 * (1 + t) + 0.5 * x * (1 - t**2))


@mistake("gelu_grad_cube", "gelu_backward")
@says("The slope of the cube lacks its factor of 3.")
@hint("What is the slope of x³ at 1?")
def gelu_cube_without_three(d_out, x):
    root = np.sqrt(2 / np.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    return d_out * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * root * (1 + 0.044715 * x**2))


@mistake("gelu_grad_cubic_slope_missing", "gelu_backward")
@says("The slope of the cubic term inside the tanh is missing.")
@hint("What is inside the tanh, and what is the slope of each of its two terms?")
def gelu_cubic_slope_missing(d_out, x):
    root = np.sqrt(2 / np.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    return d_out * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * root)


@mistake("gelu_grad_exact_form", "gelu_backward")
@says("This is the slope of the exact gelu, not of the tanh form.")
@hint("Which of the two forms does step 11 use?")
def gelu_exact_form(d_out, x):
    # Abramowitz and Stegun would lose digits: the error function by its integral, finely.
    grid = np.linspace(0, 1, 2001)
    density = np.exp(-((x[..., None] * grid) ** 2) / 2) / np.sqrt(2 * np.pi)
    share = 0.5 + x * ((density[..., 1:] + density[..., :-1]) / 2).mean(axis=-1)
    return d_out * (share + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


@mistake("gelu_grad_sigmoid_form", "gelu_backward")
@says("This is the slope of the approximation by a sigmoid of 1.702 x, not of the tanh form.")
@hint("Which form of gelu does step 11 use?")
def gelu_sigmoid_form(d_out, x):
    gate = 1 / (1 + np.exp(-1.702 * x))
    return d_out * gate * (1 + 1.702 * x * (1 - gate))


@mistake("gelu_grad_relu", "gelu_backward")
@says("This is the slope of relu: 1 above zero, 0 below.")
@hint("Which function comes between the two linear maps?")
def gelu_as_relu(d_out, x):
    return d_out * (x > 0)


@mistake("gelu_grad_of_the_result", "gelu_backward")
@says("The slope is taken at gelu(x), not at x.")
@hint("At which number is the slope asked for: what went in, or what came out?")
def gelu_slope_at_result(d_out, x):
    return d_out * slope_of_gelu(gelu(x))


@mistake("grad_without_d_out", "gelu_backward")
@says("d_out is not used: the result is the slope alone.")
@hint("Follow the argument d_out through your function: where does it act?")
def gelu_without_d_out(d_out, x):
    return slope_of_gelu(x)


@mistake("gelu_grad_forward", "gelu_backward")
@says("d_out is multiplied by gelu(x), not by its slope.")
@hint("What does the docstring multiply d_out by?")
def gelu_not_its_slope(d_out, x):
    return d_out * gelu(x)


@mistake("gelu_grad_overflows", "gelu_backward")
@says("The slope of tanh is written with a cosh, which overflows for large x.")
@hint("What is your slope at a thousand?")
def gelu_with_cosh(d_out, x):
    root = np.sqrt(2 / np.pi)
    u = root * (x + 0.044715 * x**3)
    with np.errstate(all="ignore"):
        t = np.sinh(u) / np.cosh(u)
        slope = 1 / np.cosh(u) ** 2
        return d_out * (0.5 * (1 + t) + 0.5 * x * slope * root * (1 + 3 * 0.044715 * x**2))


@mistake("np_input_mutated", "gelu_backward")
@says("The result is written into the caller's d_out.")
@hint("What does *= do to an array that your function was only lent?")
def gelu_in_place(d_out, x):
    d_out *= slope_of_gelu(x)
    return d_out.copy()


@mistake("np_half_precision", "gelu_backward")
@says("The slope for float32 numbers is kept in half precision.")
@hint("In which dtype do you keep the slope, and how many digits does it have?")
def gelu_in_half(d_out, x):
    slope = slope_of_gelu(x)
    if x.dtype == np.float32:
        slope = slope.astype(np.float16).astype(np.float32)
    return d_out * slope


@mistake("np_squeeze_kills_axis", "gelu_backward")
@says("Axes of size one disappear from the result.")
@hint("Try an x with an axis of size one: is it still there?")
def gelu_squeezed(d_out, x):
    return np.squeeze(d_out * slope_of_gelu(x))


@mistake("np_memoised_on_shape", "gelu_backward")
@says("The slopes of the first x are kept for every later x of the same shape.")
@hint("What do the slopes depend on besides the shape of x?")
def gelu_slopes_memoised(d_out, x):
    return d_out * kept_arrays.setdefault(("slopes", x.shape, x.dtype), slope_of_gelu(x))


@mistake("out_returns_view", "gelu_backward")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def gelu_same_buffer(d_out, x):
    return in_the_same_array(d_out * slope_of_gelu(x))


# feed_forward_backward


@mistake("network_grad_gelu_skipped", "feed_forward_backward")
@says("The gradient passes gelu as if it were not there.")
@hint("What comes between the two linear maps, and what is its slope?")
def network_gelu_skipped(d_out, x, params):
    inner = linear(x, params["w_in"], params["b_in"])
    d_hidden, d_w_out, d_b_out = linear_backward(d_out, gelu(inner), params["w_out"])
    d_x, d_w_in, d_b_in = linear_backward(d_hidden, x, params["w_in"])
    return d_x, {"w_in": d_w_in, "b_in": d_b_in, "w_out": d_w_out, "b_out": d_b_out}


@mistake("network_grad_slope_at_hidden", "feed_forward_backward")
@says("The slope of gelu is taken at its result, not at what went into it.")
@hint("Which of the two hidden arrays does gelu_backward want?")
def network_slope_at_hidden(d_out, x, params):
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    d_hidden, d_w_out, d_b_out = linear_backward(d_out, hidden, params["w_out"])
    d_x, d_w_in, d_b_in = linear_backward(d_hidden * slope_of_gelu(hidden), x, params["w_in"])
    return d_x, {"w_in": d_w_in, "b_in": d_b_in, "w_out": d_w_out, "b_out": d_b_out}


@mistake("network_grad_w_out_of_inner", "feed_forward_backward")
@says("The gradient of w_out is made of the hidden values before gelu.")
@hint("What went into the second linear map?")
def network_w_out_of_inner(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    inner = linear(x, params["w_in"], params["b_in"])
    return d_x, {**grads, "w_out": linear_backward(d_out, inner, params["w_out"])[1]}


@mistake("network_grad_b_in_forgotten", "feed_forward_backward")
@says("The forward pass is done again without b_in.")
@hint("Which arrays does the first linear map take?")
def network_b_in_forgotten(d_out, x, params):
    without = {**params, "b_in": np.zeros_like(params["b_in"])}
    return network_back(d_out, x, without)


@mistake("tree_key_missing", "feed_forward_backward")
@says("The gradients of the biases are missing.")
@hint("Which keys has params, and which has your grads?")
def network_without_biases(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    return d_x, {name: grads[name] for name in ("w_in", "w_out")}


@mistake("tree_renamed", "feed_forward_backward")
@says("The gradients have names of their own, such as d_w_in.")
@hint("Which keys has params, and which has your grads?")
def network_renamed(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    return d_x, {f"d_{name}": value for name, value in grads.items()}


@mistake("grad_x_missing", "feed_forward_backward")
@says("Only the gradients of the parameters come back: that of x is missing.")
@hint("How does the gradient reach what is before this sub-layer?")
def network_x_missing(d_out, x, params):
    return network_back(d_out, x, params)[1]


@mistake("grad_mean_over_batch", "feed_forward_backward")
@says("The gradients of the parameters are averaged over the batch.")
@hint("Where has the mean been taken already: here, or in the loss?")
def network_batch_mean(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    count = max(1, int(np.prod(x.shape[:-2])))
    return d_x, {name: value / count for name, value in grads.items()}


@mistake("np_input_mutated", "feed_forward_backward")
@says("The gradients are written into the caller's params.")
@hint("Whose dict is it that your function writes into?")
def network_writes_into_params(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    params.update(grads)
    return d_x, params


@mistake("np_hardcoded_rank", "feed_forward_backward")
@says("All batch axes of the gradient of x come back as one.")
@hint("What shape has your d_x if x has four axes?")
def network_one_batch_axis(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    return d_x if x.ndim < 3 else d_x.reshape(-1, *x.shape[-2:]), grads


@mistake("np_half_precision", "feed_forward_backward")
@says("The hidden features of float32 numbers are kept in half precision.")
@hint("In which dtype do you keep the hidden features, and how many digits does it have?")
def network_in_half(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    hidden = gelu(linear(x, params["w_in"], params["b_in"]))
    if x.dtype == np.float32:
        hidden = hidden.astype(np.float16).astype(np.float32)
    return d_x, {**grads, "w_out": linear_backward(d_out, hidden, params["w_out"])[1]}


@mistake("grad_accumulates", "feed_forward_backward")
@says("The gradients of the biases are added to those of earlier calls.")
@hint("Call your function twice with the same arguments: is the second answer the first?")
def network_accumulates(d_out, x, params):
    d_x, grads = network_back(d_out, x, params)
    for name in ("b_in", "b_out"):
        key = (name, grads[name].shape)
        kept_arrays[key] = kept_arrays.get(key, 0) + grads[name]
        grads[name] = kept_arrays[key].copy()
    return d_x, grads


# multi_head_attention_backward


@mistake("heads_grad_scale_by_model", "multi_head_attention_backward")
@says("The scores' gradient is divided by √d_model, not by the root of a head's width.")
@hint("How many features has a query inside one head?")
def heads_scale_by_model(d_out, x, params, n_heads, mask=None):
    def back(d, q, k, v, mask):
        d_q, d_k, d_v = attention_backward(d, q, k, v, mask)
        return d_q / np.sqrt(n_heads), d_k / np.sqrt(n_heads), d_v

    return heads_back(d_out, x, params, n_heads, mask, back)


@mistake("heads_grad_one_head", "multi_head_attention_backward")
@says("n_heads is not used: there is one head.")
@hint("Follow the argument n_heads through your function: where does it act?")
def heads_only_one(d_out, x, params, n_heads, mask=None):
    return heads_back(d_out, x, params, 1, mask)


@mistake("heads_grad_reshape_only", "multi_head_attention_backward")
@says("The gradients of the heads are merged by a reshape alone, without moving the axes.")
@hint("In which order are the numbers of one position, before and after your reshape?")
def heads_merged_by_reshape(d_out, x, params, n_heads, mask=None):
    def back(d, q, k, v, mask):
        def wrong(a):
            return split_heads(a.reshape(x.shape), n_heads)

        return tuple(map(wrong, attention_backward(d, q, k, v, mask)))

    return heads_back(d_out, x, params, n_heads, mask, back)


@mistake("heads_grad_w_o_skipped", "multi_head_attention_backward")
@says("d_out goes straight to the heads: the way back through w_o is missing.")
@hint("What was the last thing that the forward pass did?")
def heads_w_o_skipped(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, {**params, "w_o": np.eye(x.shape[-1])}, n_heads, mask)
    return d_x, grads


@mistake("heads_grad_w_o_of_out", "multi_head_attention_backward")
@says("The gradient of w_o is made of x, not of the merged heads.")
@hint("What was multiplied by w_o on the way forward?")
def heads_w_o_of_x(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    return d_x, {**grads, "w_o": linear_backward(d_out, x, params["w_o"])[1]}


@mistake("heads_grad_mask_forgotten", "multi_head_attention_backward")
@says("The mask is not used.")
@hint("Follow the argument mask through your function: where does it act?")
def heads_mask_forgotten(d_out, x, params, n_heads, mask=None):
    return heads_back(d_out, x, params, n_heads, None)


@mistake("softmax_no_max_subtraction", "decoder_block_backward")
@says("The exponentials are taken of the scores as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def block_unshifted(d_out, x, params, n_heads, mask):
    return block_back(d_out, x, params, n_heads, mask, back=unshifted_backward)


@mistake("gelu_grad_exponentials", "feed_forward_backward")
@says("The tanh is made of exponentials, which overflow.")
@hint("What is (e - 1) / (e + 1) if e is infinite, and what should it be?")
def network_by_exponentials(d_out, x, params):
    return network_back(d_out, x, params, slope_by_exponentials)


@mistake("softmax_no_max_subtraction", "multi_head_attention_backward")
@says("The exponentials are taken of the scores as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def heads_unshifted(d_out, x, params, n_heads, mask=None):
    return heads_back(d_out, x, params, n_heads, mask, unshifted_backward)


@mistake("mask_row_hides_queries", "multi_head_attention_backward")
@says("A mask with a single row is turned, so it hides queries.")
@hint("A mask with one row says something about keys: for which queries does it hold?")
def heads_row_for_queries(d_out, x, params, n_heads, mask=None):
    if np.shape(mask)[-2:-1] == (1,):
        mask = np.swapaxes(mask, -1, -2)
    return heads_back(d_out, x, params, n_heads, mask)


@mistake("mask_needs_two_axes", "multi_head_attention_backward")
@says("Every mask gets an axis for the heads before its last two axes, and may have only one.")
@hint("How many axes may a mask have that broadcasts to (..., T, T)?")
def heads_mask_of_two_axes(d_out, x, params, n_heads, mask=None):
    mask = None if mask is None else mask[..., None, :, :]
    return heads_back(d_out, x, params, n_heads, None if mask is None else mask[..., 0, :, :])


@mistake("mask_of_all_axes_only", "multi_head_attention_backward")
@says("Only a mask with as many axes as x gets an axis for the heads.")
@hint("Which axis of a mask is the one of the heads if it has fewer batch axes than x?")
def heads_mask_of_all_axes(d_out, x, params, n_heads, mask=None):
    if mask is not None and 2 < np.ndim(mask) < x.ndim:
        mask = np.broadcast_to(mask[..., :1, :, :], mask.shape)
    return heads_back(d_out, x, params, n_heads, mask)


@mistake("heads_grad_first_head_masked", "multi_head_attention_backward")
@says("The mask holds for the first head only.")
@hint("How many heads read the mask on the way forward?")
def heads_first_head_masked(d_out, x, params, n_heads, mask=None):
    if mask is None:
        return heads_back(d_out, x, params, n_heads, None)
    d = x.shape[-1] // n_heads
    per_head = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    everything = np.ones_like(per_head)
    first = {**params, "w_o": np.where(np.arange(x.shape[-1])[:, None] < d, params["w_o"], 0)}
    rest = {**params, "w_o": np.where(np.arange(x.shape[-1])[:, None] < d, 0, params["w_o"])}
    d_x, grads = heads_back(d_out, x, first, n_heads, per_head)
    more, others = heads_back(d_out, x, rest, n_heads, everything)
    mine = np.arange(x.shape[-1]) < d
    w_o = np.where(mine[:, None], grads["w_o"], others["w_o"])
    grads = {name: value + others[name] for name, value in grads.items()}
    return d_x + more, {**grads, "w_o": w_o, "b_o": others["b_o"]}


@mistake("heads_grad_mask_axis", "multi_head_attention_backward")
@says("The mask of the first sequence is used for the whole batch.")
@hint("Where does the second sequence of the batch meet its own mask?")
def heads_mask_axis(d_out, x, params, n_heads, mask=None):
    if mask is not None and np.ndim(mask) > 2:
        mask = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
        mask = np.broadcast_to(mask[(0,) * (mask.ndim - 2)], mask.shape)
    return heads_back(d_out, x, params, n_heads, mask)


@mistake("self_grad_x_from_values_only", "multi_head_attention_backward")
@says("The gradient of x comes through the values only.")
@hint("How often was x used on the way forward?")
def heads_x_from_values(d_out, x, params, n_heads, mask=None):
    _, grads = heads_back(d_out, x, params, n_heads, mask)

    def back(d, q, k, v, mask):
        _, _, d_v = attention_backward(d, q, k, v, mask)
        return np.zeros_like(q), np.zeros_like(k), d_v

    return heads_back(d_out, x, params, n_heads, mask, back)[0], grads


@mistake("tree_key_missing", "multi_head_attention_backward")
@says("b_k is missing in grads, because its gradient is 0.")
@hint("Which keys has params, and which has your grads?")
def heads_without_b_k(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    return d_x, {name: value for name, value in grads.items() if name != "b_k"}


@mistake("heads_grad_biases_forgotten", "multi_head_attention_backward")
@says("The forward pass is done again without the biases of the projections.")
@hint("Which arrays make q, k and v?")
def heads_biases_forgotten(d_out, x, params, n_heads, mask=None):
    nothing = {f"b_{n}": np.zeros_like(params[f"b_{n}"]) for n in "qkv"}
    return heads_back(d_out, x, {**params, **nothing}, n_heads, mask)


@mistake("grad_batch_not_summed", "multi_head_attention_backward")
@says("Only the first sequence of the batch counts in the gradients of the parameters.")
@hint("Which sequences did the weights serve?")
def heads_first_sequence_only(d_out, x, params, n_heads, mask=None):
    d_x, _ = heads_back(d_out, x, params, n_heads, mask)
    first = np.zeros_like(d_out)
    first[(0,) * (x.ndim - 2)] = 1
    return d_x, heads_back(d_out * first, x, params, n_heads, mask)[1]


@mistake("np_squeeze_kills_axis", "multi_head_attention_backward")
@says("Axes of size one disappear from the gradient of x.")
@hint("Try a single position, or a batch of one sequence: are all axes still there?")
def heads_squeezed(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    return np.squeeze(d_x), grads


def half_queries(d_out, q, k, v, mask):
    """Return gradients of attention, with those of float32 queries in half precision."""
    d_q, d_k, d_v = attention_backward(d_out, q, k, v, mask)
    if q.dtype == np.float32:
        d_q = d_q.astype(np.float16).astype(np.float32)
    return d_q, d_k, d_v


@mistake("np_half_precision", "multi_head_attention_backward")
@says("The gradient of float32 queries is kept in half precision.")
@hint("In which dtype do you keep the gradient of q, and how many digits does it have?")
def heads_in_half(d_out, x, params, n_heads, mask=None):
    return heads_back(d_out, x, params, n_heads, mask, half_queries)


@mistake("out_returns_view", "multi_head_attention_backward")
@says("The gradient of x lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def heads_same_buffer(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    return in_the_same_array(d_x), grads


@mistake("np_memoised_on_shape", "multi_head_attention_backward")
@says("The gradient of w_o is made of merged heads that are kept for every x of that shape.")
@hint("What do the merged heads depend on besides the shape of x?")
def heads_merged_memoised(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    key = ("merged", x.shape, x.dtype, n_heads, mask is None)
    if key not in kept_arrays:
        identity = {"w_o": np.eye(x.shape[-1], dtype=x.dtype), "b_o": 0 * params["b_o"]}
        kept_arrays[key] = multi_head_attention(x, {**params, **identity}, n_heads, mask)
    return d_x, {**grads, "w_o": linear_backward(d_out, kept_arrays[key], params["w_o"])[1]}


@mistake("np_input_mutated", "multi_head_attention_backward")
@says("The gradients take the places of the parameters in the caller's dict.")
@hint("Which dict do you fill, and who else reads it?")
def heads_grads_into_params(d_out, x, params, n_heads, mask=None):
    d_x, grads = heads_back(d_out, x, params, n_heads, mask)
    params.update(grads)
    return d_x, params


# decoder_block_backward


@mistake("block_grad_no_shortcut", "decoder_block_backward")
@says("The gradient of the stream is lost: what comes out of the norms takes its place.")
@hint("Let both sub-layers return zeros. What should d_x be then, and what is yours?")
def block_no_shortcut(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, d_network = network_back(d_out, n_2, params["feed_forward"])
    d_middle, d_gain_2, d_bias_2 = norm_back(d, middle, ln_2["gain"])
    d, d_attention = heads_back(d_middle, n_1, params["attention"], n_heads, mask)
    d_x, d_gain_1, d_bias_1 = norm_back(d, x, ln_1["gain"])
    return d_x, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


@mistake("block_grad_no_path_by_attention", "decoder_block_backward")
@says("The gradient does not pass by the attention sub-layer: that residual path is missing.")
@hint("Which paths lead around the attention on the way forward?")
def block_no_path_by_attention(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, d_network = network_back(d_out, n_2, params["feed_forward"])
    d, d_gain_2, d_bias_2 = norm_back(d, middle, ln_2["gain"])
    d_middle = d + d_out
    d, d_attention = heads_back(d_middle, n_1, params["attention"], n_heads, mask)
    d, d_gain_1, d_bias_1 = norm_back(d, x, ln_1["gain"])
    return d, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


@mistake("block_grad_no_path_by_feed_forward", "decoder_block_backward")
@says("The gradient does not pass by the feed-forward sub-layer: that residual path is missing.")
@hint("Which paths lead around the feed-forward on the way forward?")
def block_no_path_by_feed_forward(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, d_network = network_back(d_out, n_2, params["feed_forward"])
    d, d_gain_2, d_bias_2 = norm_back(d, middle, ln_2["gain"])
    d_middle = d
    d, d_attention = heads_back(d_middle, n_1, params["attention"], n_heads, mask)
    d, d_gain_1, d_bias_1 = norm_back(d, x, ln_1["gain"])
    return d + d_middle, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


@mistake("block_grad_parallel", "decoder_block_backward")
@says("The attention sub-layer gets d_out, without what the feed-forward has added to it.")
@hint("Through how many paths does the middle of the block reach the loss?")
def block_attention_gets_d_out(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, _ = network_back(d_out, n_2, params["feed_forward"])
    part_2 = norm_back(d, middle, ln_2["gain"])[0]
    d, d_attention = heads_back(d_out, n_1, params["attention"], n_heads, mask)
    part_1, d_gain, d_bias = norm_back(d, x, ln_1["gain"])
    new = {"ln_1": {"gain": d_gain, "bias": d_bias}, "attention": d_attention}
    return d_out + part_2 + part_1, {**grads, **new}


@mistake("block_grad_middle_is_x", "decoder_block_backward")
@says("The second norm is walked back with the block's input, not with the middle.")
@hint("What did ln_2 read on the way forward?")
def block_middle_is_x(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    n_2 = layer_norm(x, ln_2["gain"], ln_2["bias"])
    d, d_network = network_back(d_out, n_2, params["feed_forward"])
    part, d_gain_2, d_bias_2 = norm_back(d, x, ln_2["gain"])
    d_middle = d_out + part
    d, d_attention = heads_back(d_middle, n_1, params["attention"], n_heads, mask)
    part, d_gain_1, d_bias_1 = norm_back(d, x, ln_1["gain"])
    return d_middle + part, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


@mistake("block_grad_norm_result", "decoder_block_backward")
@says("The norms are walked back with their results where their inputs belong.")
@hint("Which x does layer_norm_backward ask for: what went in, or what came out?")
def block_norm_result(d_out, x, params, n_heads, mask):
    def norm(d, x, gain):
        return norm_back(d, standardised(x)[0], gain)

    return block_back(d_out, x, params, n_heads, mask, norm)


@mistake("block_grad_sublayer_reads_stream", "decoder_block_backward")
@says("The sub-layers are walked back with the stream, not with the normalised stream.")
@hint("What did each sub-layer read on the way forward?")
def block_sublayers_read_stream(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    n_1 = layer_norm(x, params["ln_1"]["gain"], params["ln_1"]["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    d, d_network = network_back(d_out, middle, params["feed_forward"])
    part, d_gain, d_bias = norm_back(d, middle, params["ln_2"]["gain"])
    new = {"feed_forward": d_network, "ln_2": {"gain": d_gain, "bias": d_bias}}
    return d_x, {**grads, **new}


@mistake("block_grad_norms_swapped", "decoder_block_backward")
@says("The gradients of ln_1 and ln_2 are swapped.")
@hint("Which of the two norms comes first on the way back?")
def block_norms_swapped(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return d_x, {**grads, "ln_1": grads["ln_2"], "ln_2": grads["ln_1"]}


@mistake("block_grad_norms_skipped", "decoder_block_backward")
@says("The gradient goes from a sub-layer straight to the stream, past its norm.")
@hint("What comes between the stream and each sub-layer?")
def block_norms_skipped(d_out, x, params, n_heads, mask):
    def norm(d, x, gain):
        _, d_gain, d_bias = norm_back(d, x, gain)
        return d, d_gain, d_bias

    return block_back(d_out, x, params, n_heads, mask, norm)


@mistake("norm_grad_constants", "decoder_block_backward")
@says("Mean and spread of the norms are taken for constants.")
@hint("If one feature of the stream rises, what becomes of the mean?")
def block_norm_constants(d_out, x, params, n_heads, mask):
    def norm(d, x, gain):
        _, d_gain, d_bias = norm_back(d, x, gain)
        return d * gain / standardised(x)[1], d_gain, d_bias

    return block_back(d_out, x, params, n_heads, mask, norm)


@mistake("block_grad_mask_forgotten", "decoder_block_backward")
@says("The backward pass does not use the mask.")
@hint("Put a loss on the first position alone. Which rows of your d_x are 0?")
def block_mask_forgotten(d_out, x, params, n_heads, mask):
    return block_back(d_out, x, params, n_heads, None)


@mistake("block_grad_always_causal", "decoder_block_backward")
@says("The mask that is given is not used: a causal one is made instead.")
@hint("Follow the argument mask through your function: where does it act?")
def block_always_causal(d_out, x, params, n_heads, mask):
    return block_back(d_out, x, params, n_heads, np.tri(x.shape[-2], dtype=bool))


@mistake("tree_flat", "decoder_block_backward")
@says("grads is flat: the gradients of the parts do not lie under the parts' names.")
@hint("Where does params keep the gain of ln_1, and where does your grads?")
def block_tree_flat(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return d_x, {**grads["attention"], **grads["feed_forward"], **grads["ln_1"]}


@mistake("tree_key_missing", "decoder_block_backward")
@says("The gradients of the two norms are missing in grads.")
@hint("Which keys has params, and which has your grads?")
def block_without_norms(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return d_x, {name: grads[name] for name in ("attention", "feed_forward")}


@mistake("grad_mean_over_batch", "decoder_block_backward")
@says("The gradients of the parameters are averaged over the batch.")
@hint("Where has the mean been taken already: here, or in the loss?")
def block_batch_mean(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    count = max(1, int(np.prod(x.shape[:-2])))
    return d_x, {k: {n: v / count for n, v in part.items()} for k, part in grads.items()}


@mistake("np_input_mutated", "decoder_block_backward")
@says("The sub-layers' gradients are added into the caller's d_out.")
@hint("What does += do to an array that your function was only lent?")
def block_adds_into_d_out(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    d_out += d_x - d_out
    return d_out, grads


@mistake("block_grad_feed_forward_first", "decoder_block_backward")
@says("The way back begins with attention: the order of the forward pass is kept.")
@hint("Which sub-layer came last on the way forward?")
def block_wrong_order(d_out, x, params, n_heads, mask):
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    n_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(n_1, params["attention"], n_heads, mask)
    n_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])
    d, d_attention = heads_back(d_out, n_1, params["attention"], n_heads, mask)
    part, d_gain_1, d_bias_1 = norm_back(d, x, ln_1["gain"])
    d_middle = d_out + part
    d, d_network = network_back(d_middle, n_2, params["feed_forward"])
    part, d_gain_2, d_bias_2 = norm_back(d, middle, ln_2["gain"])
    return d_middle + part, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }


@mistake("np_squeeze_kills_axis", "decoder_block_backward")
@says("Axes of size one disappear from the gradient of x.")
@hint("Try a single position, or a batch of one sequence: are all axes still there?")
def block_squeezed(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return np.squeeze(d_x), grads


@mistake("np_hardcoded_rank", "decoder_block_backward")
@says("All batch axes of the gradient of x come back as one.")
@hint("What shape has your d_x if x has four axes?")
def block_one_batch_axis(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return d_x if x.ndim < 3 else d_x.reshape(-1, *x.shape[-2:]), grads


@mistake("mask_one_for_all_refused", "decoder_block_backward")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(d_out, x, params, n_heads, mask):
    each = mask is not None and x.ndim == mask.ndim > 2
    mask = mask[np.arange(len(x))] if each else mask
    return block_back(d_out, x, params, n_heads, mask)


@mistake("np_half_precision", "decoder_block_backward")
@says("The slopes of float32 numbers are kept in half precision.")
@hint("In which dtype do you keep d_out, and how many digits does it have?")
def block_in_half(d_out, x, params, n_heads, mask):
    if x.dtype == np.float32:
        d_out = d_out.astype(np.float16).astype(np.float32)
    return block_back(d_out, x, params, n_heads, mask)


@mistake("out_returns_view", "decoder_block_backward")
@says("The gradient of x lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def block_same_buffer(d_out, x, params, n_heads, mask):
    d_x, grads = block_back(d_out, x, params, n_heads, mask)
    return in_the_same_array(d_x), grads


@mistake("heads_grad_keys_from_queries", "multi_head_attention_backward")
@says("The weights of the keys get the gradient that belongs to the queries.")
@hint("Which of the three gradients goes back through which weight?")
def heads_grad_keys_from_queries(d_out, x, params, n_heads, mask=None):
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    heads = [split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv"]
    merged = merge_heads(attention(*heads, mask))
    d_merged, d_w_o, d_b_o = linear_backward(d_out, merged, params["w_o"])
    grads, d_x = {"w_o": d_w_o, "b_o": d_b_o}, 0
    d_q, _, d_v = attention_backward(split_heads(d_merged, n_heads), *heads, mask)
    for n, d_head in zip("qkv", (d_q, d_q, d_v)):
        part, grads[f"w_{n}"], grads[f"b_{n}"] = linear_backward(
            merge_heads(d_head), x, params[f"w_{n}"]
        )
        d_x = d_x + part
    return d_x, grads
