"""Right versions of step 2 in unusual style."""

import math
import sys
import warnings

import numpy as np

from grader.answer_key.variants import fair


class ScaledDotProduct:
    """Scores as a callable object."""

    def __init__(self, power):
        self.power = power

    def __call__(self, q, k):
        return (q @ np.swapaxes(k, -1, -2)) * q.shape[-1] ** self.power


scaled_dot_product = ScaledDotProduct(-0.5)


@fair("python_loops", "attention_scores")
def scores_python_loops(q, k):
    """Four loops and Python floats."""
    t_q, d_k = q.shape[-2:]
    t_k = k.shape[-2]
    scores = np.empty((*q.shape[:-2], t_q, t_k))
    for row in np.ndindex(*q.shape[:-2]):
        for i in range(t_q):
            for j in range(t_k):
                dot = sum(float(q[(*row, i, f)]) * float(k[(*row, j, f)]) for f in range(d_k))
                scores[(*row, i, j)] = dot / math.sqrt(d_k)
    return scores


@fair("einsum", "attention_scores")
def scores_einsum(q, k):
    return np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1])


@fair("queries_scaled_first", "attention_scores")
def scores_queries_scaled_first(q, k):
    return np.matmul(q / math.sqrt(k.shape[-1]), k.swapaxes(-1, -2))


@fair("keys_scaled_first", "attention_scores")
def scores_keys_scaled_first(q, k):
    return q @ np.swapaxes(k * k.shape[-1] ** -0.5, -2, -1)


@fair("both_by_quarter_power", "attention_scores")
def scores_both_by_quarter_power(q, k):
    """√d is split between the queries and the keys."""
    share = q.shape[-1] ** 0.25
    return (q / share) @ np.moveaxis(k / share, -1, -2)


@fair("dot_per_row", "attention_scores")
def scores_dot_per_row(q, k):
    """One np.dot for every query."""
    out = np.zeros((*q.shape[:-1], k.shape[-2]), dtype=np.result_type(q, k))
    for place in np.ndindex(*q.shape[:-1]):
        out[place] = np.dot(k[place[:-1]], q[place])
    return out / np.sqrt(np.float64(q.shape[-1]))


@fair("keys_times_queries", "attention_scores")
def scores_keys_times_queries(q, k):
    """k qᵀ, seen through a transposed view."""
    keys_first = (k @ np.swapaxes(q, -1, -2)) / math.sqrt(q.shape[-1])
    return np.swapaxes(keys_first, -1, -2)


@fair("broadcast_and_sum", "attention_scores")
def scores_broadcast_and_sum(q, k):
    products = q[..., :, None, :] * k[..., None, :, :]
    return products.sum(axis=-1) / np.sqrt(products.shape[-1])


@fair("feature_by_feature", "attention_scores")
def scores_feature_by_feature(q, k):
    """Adds one outer product per feature, in place on an array of its own."""
    d_k = q.shape[-1]
    total = np.zeros((*q.shape[:-1], k.shape[-2]))
    for f in range(d_k):
        total += q[..., f, None] * k[..., None, :, f]
    total /= d_k**0.5
    return total


@fair("recursion_inner", "attention_scores")
def scores_recursion_inner(q, k):
    """np.inner on matrices, recursion over the batch axes."""
    if q.ndim > 2:
        return np.stack([scores_recursion_inner(a, b) for a, b in zip(q, k, strict=True)])
    return np.inner(q, k) / np.sqrt(q.shape[1])


@fair("recursion_tensordot", "attention_scores")
def scores_recursion_tensordot(q, k):
    if q.ndim == 2:
        return np.tensordot(q, k, axes=([1], [1])) * (1 / math.sqrt(q.shape[1]))
    return np.array([scores_recursion_tensordot(q[b], k[b]) for b in range(len(q))])


@fair("longdouble", "attention_scores")
def scores_longdouble(q, k):
    """Extended precision, inside and in the result."""
    d_k = np.longdouble(q.shape[-1])
    wide = k.astype(np.longdouble).swapaxes(-1, -2)
    return q.astype(np.longdouble) @ wide / np.sqrt(d_k)


@fair("float32_result", "attention_scores")
def scores_float32_result(q, k):
    """float64 inside, the inputs' dtype in the result."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    scores /= math.sqrt(q.shape[-1])
    return scores.astype(np.result_type(q, k, np.float32))


@fair("float32_throughout", "attention_scores")
def scores_float32_throughout(q, k):
    """A Python float keeps float32 arrays float32."""
    return (q @ k.swapaxes(-2, -1)) * float(1.0 / math.sqrt(q.shape[-1]))


@fair("fsum", "attention_scores")
def scores_fsum(q, k):
    """Exact sums; as many decimals as a float can hold."""
    root = math.sqrt(q.shape[-1])
    if q.ndim > 2:
        return np.stack([scores_fsum(*pair) for pair in zip(q, k, strict=True)])
    return np.array(
        [
            [math.fsum(float(a) * float(b) for a, b in zip(x, y, strict=True)) / root for y in k]
            for x in q
        ]
    )


@fair("readonly_fortran", "attention_scores")
def scores_readonly_fortran(q, k):
    scores = np.array(q @ np.moveaxis(k, -2, -1) / np.sqrt(q.shape[-1]), order="F")
    scores.setflags(write=False)
    return scores


@fair("negative_strides", "attention_scores")
def scores_negative_strides(q, k):
    """Both time axes reversed and turned back in a view."""
    backwards = q[..., ::-1, :] @ k[..., ::-1, :].swapaxes(-1, -2)
    return (backwards / q.shape[-1] ** 0.5)[..., ::-1, ::-1]


@fair("other_names", "attention_scores")
def scores_other_names(queries, keys, /, scale=None, verbose=False):
    """Other parameter names, and optional ones of its own."""
    scale = 1 / np.sqrt(queries.shape[-1]) if scale is None else scale
    if verbose:
        print(queries.shape, keys.shape)
    return scale * np.matmul(queries, np.swapaxes(keys, -1, -2))


@fair("callable_object", "attention_scores")
def scores_callable_object(*arguments):
    """Hands over to an object."""
    return scaled_dot_product(*arguments)


@fair("noisy", "attention_scores")
def scores_noisy(q, k):
    """Prints, writes to stderr and warns."""
    print("scores", q.tolist()[:1])
    print("keys", k.shape, file=sys.stderr)
    warnings.warn("scaling by the root of the key size", RuntimeWarning, stacklevel=2)
    return q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])


@fair("flattened_batch", "attention_scores")
def scores_flattened_batch(q, k):
    """All batch axes in one, an output buffer, np.divide into it."""
    t_q, d_k = q.shape[-2:]
    t_k = k.shape[-2]
    flat_q, flat_k = q.reshape(-1, t_q, d_k), k.reshape(-1, t_k, d_k)
    buffer = np.empty((len(flat_q), t_q, t_k))
    for b, (one_q, one_k) in enumerate(zip(flat_q, flat_k, strict=True)):
        np.divide(one_q.dot(one_k.T), math.sqrt(d_k), out=buffer[b])
    return buffer.reshape(*q.shape[:-2], t_q, t_k)
