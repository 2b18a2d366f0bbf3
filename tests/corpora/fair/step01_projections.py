"""Right versions of step 1 in unusual style."""

import functools
import math
import sys
import warnings
from collections import namedtuple

import numpy as np

from grader.answer_key.variants import fair

QueryKeyValue = namedtuple("QueryKeyValue", "queries keys values")


class AffineMap:
    """A callable object in place of the function."""

    def __call__(self, x, weight, bias=None):
        y = np.matmul(x, weight)
        return y if bias is None else np.add(y, bias)


affine_map = AffineMap()


def project_in_order(order, x, w_q, w_k, w_v):
    matrices = {"q": w_q, "k": w_k, "v": w_v}
    return tuple(x @ matrices[name] for name in order)


partial_projection = functools.partial(project_in_order, "qkv")

lambda_projection = lambda x, w_q, w_k, w_v: [x @ w_q, x @ w_k, x @ w_v]  # noqa: E731


@fair("python_loops", "linear")
def linear_python_loops(x, weight, bias=None):
    """Three nested loops over Python floats."""
    d_in, d_out = weight.shape
    y = np.zeros((*x.shape[:-1], d_out))
    for place in np.ndindex(*x.shape[:-1]):
        for o in range(d_out):
            total = 0.0 if bias is None else float(bias[o])
            for i in range(d_in):
                total += float(x[(*place, i)]) * float(weight[i, o])
            y[(*place, o)] = total
    return y


@fair("einsum", "linear")
def linear_einsum(x, weight, bias=None):
    y = np.einsum("...i,io->...o", x, weight)
    return y if bias is None else bias + y


@fair("tensordot", "linear")
def linear_tensordot(x, weight, bias=None):
    return np.tensordot(x, weight, axes=(-1, 0)) + (0 if bias is None else bias)


@fair("dot_per_row", "linear")
def linear_dot_per_row(x, weight, bias=None):
    """One np.dot for every vector."""
    shift = np.zeros(weight.shape[1]) if bias is None else bias
    return np.apply_along_axis(lambda row: np.dot(row, weight) + shift, -1, x)


@fair("flattened_batch", "linear")
def linear_flattened_batch(x, weight, bias=None):
    """All leading axes are folded into one and unfolded at the end."""
    flat = x.reshape(-1, x.shape[-1]) @ weight
    if bias is not None:
        flat += bias
    return flat.reshape(*x.shape[:-1], -1)


@fair("bias_as_row", "linear")
def linear_bias_as_row(x, weight, bias=None):
    """The bias is one more row of the weight, and x has one more feature, 1."""
    row = np.zeros(weight.shape[1]) if bias is None else bias
    ones = np.ones((*x.shape[:-1], 1))
    return np.concatenate([x, ones], axis=-1) @ np.vstack([weight, row])


@fair("outer_products", "linear")
def linear_outer_products(x, weight, bias=None):
    """Adds up one input feature at a time."""
    y = sum(x[..., i, None] * weight[i] for i in range(weight.shape[0]))
    return y if bias is None else y + bias


@fair("column_vectors", "linear")
def linear_column_vectors(vectors, matrix, bias=None):
    """Transposed weight times column vectors, under other parameter names."""
    y = np.matmul(matrix.T, vectors[..., None])[..., 0]
    if bias is not None:
        y = y + np.asarray(bias)
    return y


@fair("longdouble", "linear")
def linear_longdouble(x, weight, bias=None):
    """Computed and returned in extended precision."""
    y = x.astype(np.longdouble) @ weight.astype(np.longdouble)
    return y if bias is None else y + bias


@fair("fortran_readonly", "linear")
def linear_fortran_readonly(x, weight, bias=None):
    """The result is Fortran-ordered and may not be written to."""
    y = np.array(x @ weight, order="F")
    if bias is not None:
        y += bias
    y.setflags(write=False)
    return y


@fair("noisy", "linear")
def linear_noisy(x, weight, bias=None):
    """Prints, writes to stderr and warns."""
    print("linear:", x.shape, "times", weight.shape)
    sys.stderr.write("no bias\n" if bias is None else f"bias {bias.shape}\n")
    warnings.warn("this is only a warning", stacklevel=2)
    return x @ weight if bias is None else x @ weight + bias


@fair("fsum", "linear")
def linear_fsum(x, weight, bias=None):
    """Sums exactly with math.fsum, by recursion over the leading axes."""
    if x.ndim > 1:
        return np.stack([linear_fsum(part, weight, bias) for part in x])
    start = [0.0] * weight.shape[1] if bias is None else [float(b) for b in bias]
    columns = weight.T.tolist()
    return np.array(
        [
            math.fsum([b, *(a * w for a, w in zip(x.tolist(), column, strict=True))])
            for b, column in zip(start, columns, strict=True)
        ]
    )


@fair("extra_parameters", "linear")
def linear_extra_parameters(x, weight, bias=None, out_dtype=None, transpose=False):
    """Has optional parameters of its own."""
    matrix = weight.T if transpose else weight
    y = np.dot(x, matrix)
    y = y if bias is None else y + bias
    return y if out_dtype is None else y.astype(out_dtype)


@fair("float32_result", "linear", also={"project_qkv": "partial_projection"})
def linear_float32_result(x, weight, bias=None):
    """float64 inside, the input's dtype outside; project_qkv is a functools.partial object."""
    y = x.astype(np.float64) @ weight.astype(np.float64)
    y = y if bias is None else y + bias.astype(np.float64)
    return y.astype(np.result_type(x, np.float32))


@fair("concatenated_weights", "project_qkv")
def qkv_concatenated_weights(x, w_q, w_k, w_v):
    """One product with the three weights side by side, cut into views of it."""
    cuts = np.cumsum([w_q.shape[1], w_k.shape[1]])
    return np.split(x @ np.concatenate([w_q, w_k, w_v], axis=1), cuts, axis=-1)


@fair("namedtuple", "project_qkv")
def qkv_namedtuple(x, w_q, w_k, w_v):
    parts = (np.einsum("...tm,md->...td", x, w) for w in (w_q, w_k, w_v))
    return QueryKeyValue(*parts)


@fair("token_by_token", "project_qkv")
def qkv_token_by_token(x, w_q, w_k, w_v):
    """Every token is projected alone."""
    results = []
    for w in (w_q, w_k, w_v):
        rows = [x[..., t, :] @ w for t in range(x.shape[-2])]
        results.append(np.stack(rows, axis=-2))
    return tuple(results)


@fair("through_linear", "project_qkv")
def qkv_through_linear(x, w_q, w_k, w_v):
    """Uses linear of the same step, from last to first."""
    v, k, q = (linear(x, w, bias=None) for w in (w_v, w_k, w_q))
    return q, k, v


@fair("time_reversed", "project_qkv")
def qkv_time_reversed(x, w_q, w_k, w_v):
    """Works on the reversed sequence and returns negative-stride views."""
    backwards = x[..., ::-1, :]
    q, k, v = backwards @ w_q, backwards @ w_k, backwards @ w_v
    return [q[..., ::-1, :], k[..., ::-1, :], v[..., ::-1, :]]


@fair("moved_axes", "project_qkv")
def qkv_moved_axes(tokens, to_query, to_key, to_value):
    """Features first, other parameter names, non-contiguous results."""
    columns = np.moveaxis(tokens, -1, -2)
    return tuple(np.moveaxis(m.T @ columns, -2, -1) for m in (to_query, to_key, to_value))


@fair("readonly_float32", "project_qkv")
def qkv_readonly_float32(x, w_q, w_k, w_v):
    """float64 inside, the input's dtype outside, none of the results writable."""
    results = []
    for w in (w_q, w_k, w_v):
        y = (x.astype(float) @ w.astype(float)).astype(np.result_type(x, np.float32))
        y.flags.writeable = False
        results.append(y)
    return tuple(results)


@fair("recursion_longdouble", "project_qkv", also={"linear": "affine_map"})
def qkv_recursion_longdouble(x, w_q, w_k, w_v):
    """One batch row at a time, in extended precision; linear is a callable object."""
    if x.ndim == 2:
        wide = x.astype(np.longdouble)
        return wide @ w_q, wide @ w_k, wide @ w_v
    rows = [qkv_recursion_longdouble(row, w_q, w_k, w_v) for row in x]
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


@fair("bound_lambda", "linear", also={"project_qkv": "lambda_projection"})
def linear_plain_with_lambda(x, weight, bias=None):
    """project_qkv is a lambda bound to the name, and returns a list."""
    return np.add(np.matmul(x, weight), 0.0 if bias is None else bias)
