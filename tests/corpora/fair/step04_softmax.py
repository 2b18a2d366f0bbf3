"""Right versions of step 4 in unusual style."""

import math
import sys
import warnings

import numpy as np

from grader.answer_key.variants import fair


def exponentials_below_maximum(scores, axis):
    """exp(scores - maximum) along the axis, all zero where the maximum is -∞."""
    top = np.max(scores, axis=axis, keepdims=True)
    return np.exp(scores - np.where(np.isneginf(top), 0.0, top))


class Softmax:
    """Softmax as a callable object."""

    def __call__(self, scores, axis):
        e = exponentials_below_maximum(scores, axis)
        total = e.sum(axis=axis, keepdims=True)
        return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


softmax_object = Softmax()


def distribution_of_list(values):
    """Softmax of a list of Python floats, summed exactly."""
    top = max(values)
    if top == -math.inf:
        return [0.0] * len(values)
    e = [math.exp(s - top) for s in values]
    total = math.fsum(e)
    return [one / total for one in e]


@fair("divide_where", "softmax")
def softmax_divide_where(scores, axis=-1):
    """Divides only where there is something to divide by."""
    e = exponentials_below_maximum(scores, axis)
    total = np.add.reduce(e, axis=axis, keepdims=True)
    return np.true_divide(e, total, out=np.zeros(e.shape), where=total != 0)


@fair("small_number_added", "softmax")
def softmax_small_number_added(scores, axis=-1):
    """A small number keeps the sum from 0."""
    e = exponentials_below_maximum(scores, axis)
    return e / (e.sum(axis=axis, keepdims=True) + 1e-12)


@fair("log_softmax_first", "softmax")
def softmax_log_softmax_first(scores, axis=-1):
    """The logarithms of the probabilities, then exp."""
    top = scores.max(axis=axis, keepdims=True)
    shifted = scores - np.where(top == -np.inf, 0, top)
    with np.errstate(divide="ignore"):
        log_total = np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.exp(shifted - np.where(np.isneginf(log_total), 0, log_total))


@fair("logaddexp", "softmax")
def softmax_logaddexp(scores, axis=-1):
    """The normaliser from np.logaddexp.reduce."""
    top = np.max(scores, axis=axis, keepdims=True)
    shifted = scores - np.where(np.isfinite(top), top, 0)
    log_total = np.logaddexp.reduce(shifted, axis=axis, keepdims=True)
    return np.exp(shifted - np.where(np.isfinite(log_total), log_total, 0))


@fair("fsum_loops", "softmax")
def softmax_fsum_loops(scores, axis=-1):
    """Lists, math.exp and math.fsum along the axis."""
    return np.apply_along_axis(lambda s: np.array(distribution_of_list(s.tolist())), axis, scores)


@fair("row_by_row", "softmax")
def softmax_row_by_row(scores, axis=-1):
    """The axis is moved to the end and back; the result is a view."""
    rows = np.moveaxis(scores, axis, -1)
    out = np.zeros(rows.shape)
    for place in np.ndindex(*rows.shape[:-1]):
        allowed = rows[place] > -np.inf
        if allowed.any():
            e = np.exp(rows[place][allowed] - rows[place][allowed].max())
            out[place][allowed] = e / e.sum()
    return np.moveaxis(out, -1, axis)


@fair("nan_to_zero", "softmax")
def softmax_nan_to_zero(scores, axis=-1):
    """-∞ minus -∞ is NaN only where a slice is blocked: zero there."""
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(axis=axis, keepdims=True))
        weights = e / e.sum(axis=axis, keepdims=True)
    return np.nan_to_num(weights, nan=0.0)


@fair("nan_to_zero_warns", "softmax")
def softmax_nan_to_zero_warns(scores, axis=-1):
    """The same, and NumPy warns about it."""
    e = np.exp(scores - np.amax(scores, axis=axis, keepdims=True))
    weights = e / np.sum(e, axis=axis, keepdims=True)
    weights[np.isnan(weights)] = 0
    return weights


@fair("finite_lowest_maximum", "softmax")
def softmax_finite_lowest_maximum(scores, axis=-1):
    """The maximum is never -∞ and the total never 0: no special case."""
    scores = np.asarray(scores, dtype=float)
    top = scores.max(axis=axis, keepdims=True, initial=np.finfo(float).min)
    e = np.exp(scores - top)
    return e / np.maximum(e.sum(axis=axis, keepdims=True), np.finfo(float).tiny)


@fair("longdouble", "softmax")
def softmax_longdouble(scores, axis=-1):
    """Extended precision, inside and in the result."""
    e = exponentials_below_maximum(scores.astype(np.longdouble), axis)
    total = e.sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


@fair("running_maximum", "softmax")
def softmax_running_maximum(scores, axis=-1):
    """Maximum and total in one pass, corrected whenever the maximum rises."""
    values = np.moveaxis(np.asarray(scores, dtype=float), axis, 0)
    top = np.full(values.shape[1:], -np.inf)
    total = np.zeros(values.shape[1:])
    for value in values:
        higher = np.maximum(top, value)
        base = np.where(np.isneginf(higher), 0, higher)
        total = total * np.exp(top - base) + np.exp(value - base)
        top = higher
    base = np.where(np.isneginf(top), 0, top)
    return np.moveaxis(np.exp(values - base) / np.where(total > 0, total, 1), 0, axis)


@fair("powers_of_two", "softmax")
def softmax_powers_of_two(scores, axis=-1):
    """exp2 in place of exp."""
    top = np.max(scores, axis=axis, keepdims=True)
    powers = np.exp2((scores - np.where(np.isneginf(top), 0, top)) * math.log2(math.e))
    total = powers.sum(axis=axis, keepdims=True)
    return powers / (total + (total == 0))


@fair("pairwise_differences", "softmax")
def softmax_pairwise_differences(scores, axis=-1):
    """1 / Σ_j exp(s_j - s_i): an overflow is a probability of 0."""
    s = np.moveaxis(scores, axis, -1)
    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(s[..., None, :] - s[..., :, None]).sum(axis=-1)
    return np.moveaxis(np.where(np.isneginf(s), 0.0, 1.0 / odds), -1, axis)


@fair("masked_array", "softmax")
def softmax_masked_array(scores, axis=-1):
    """np.ma inside, an ordinary array outside."""
    seen = np.ma.masked_where(np.isneginf(scores), scores)
    e = np.ma.exp(seen - seen.max(axis=axis, keepdims=True))
    return np.asarray((e / e.sum(axis=axis, keepdims=True)).filled(0.0))


@fair("float32_result", "softmax")
def softmax_float32_result(scores, axis=-1):
    """float64 inside, the input's dtype in the result."""
    weights = softmax_object(scores.astype(np.float64), axis)
    return weights.astype(np.result_type(scores, np.float32))


@fair("float32_throughout", "softmax")
def softmax_float32_throughout(scores, axis=-1):
    """In place on an array of its own, in the input's dtype."""
    top = scores.max(axis=axis, keepdims=True)
    top[np.isneginf(top)] = 0
    e = np.array(scores)
    e -= top
    np.exp(e, out=e)
    total = e.sum(axis=axis, keepdims=True)
    total[total == 0] = 1
    e /= total
    return e


@fair("recursion", "softmax")
def softmax_recursion(scores, axis=-1):
    """Peels off one leading axis after the other."""
    rows = np.moveaxis(scores, axis, -1)
    if rows.ndim == 1:
        return np.array(distribution_of_list([float(s) for s in rows]))
    return np.moveaxis(np.stack([softmax_recursion(part) for part in rows]), -1, axis)


@fair("smallest_first", "softmax")
def softmax_smallest_first(scores, axis=-1):
    """Adds the exponentials up from the smallest to the largest; a read-only result."""
    e = exponentials_below_maximum(scores, axis)
    total = np.take(np.cumsum(np.sort(e, axis=axis), axis=axis), [-1], axis=axis)
    weights = e / np.where(total > 0, total, np.inf)
    weights.setflags(write=False)
    return weights


@fair("squared_halves", "softmax")
def softmax_squared_halves(scores, axis=-1):
    """exp(s/2)², normalised by the Euclidean length; Fortran order."""
    roots = np.sqrt(exponentials_below_maximum(scores, axis))
    length = np.linalg.norm(roots, axis=axis, keepdims=True)
    return np.asfortranarray(np.square(roots / np.where(length > 0, length, 1)))


@fair("callable_object", "softmax")
def softmax_callable_object(z, axis=-1, **unused):
    """Hands over to an object; other names, further keywords."""
    return softmax_object(z, axis=axis)


@fair("noisy", "softmax")
def softmax_noisy(scores, axis=-1):
    """Prints, writes to stderr and warns; the axis reversed twice."""
    print("softmax over axis", axis)
    print("largest", np.max(scores), file=sys.stderr)
    warnings.warn("careful with large scores", RuntimeWarning, stacklevel=2)
    return np.flip(softmax_object(np.flip(scores, axis), axis), axis)
