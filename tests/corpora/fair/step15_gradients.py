"""Right versions of step 15 in unusual style."""

import warnings
from collections import namedtuple

import numpy as np

from exercises.step04_softmax import softmax
from exercises.step06_loss import log_softmax
from grader.answer_key.variants import fair

LinearGradients = namedtuple("LinearGradients", "d_x d_weight d_bias")


def check_some(targets, ignore_id):
    """How many targets count."""
    number = sum(1 for target in targets.ravel() if ignore_id is None or target != ignore_id)
    if number == 0:
        raise ValueError
    return number


# linear_backward


@fair("einsum", "linear_backward")
def linear_by_einsum(d_out, x, weight):
    """One einsum for each; a namedtuple as result."""
    return LinearGradients(
        np.einsum("...o,io->...i", d_out, weight),
        np.einsum("pi,po->io", x.reshape(-1, x.shape[-1]), d_out.reshape(-1, d_out.shape[-1])),
        np.einsum("po->o", d_out.reshape(-1, d_out.shape[-1])),
    )


@fair("tensordot", "linear_backward")
def linear_by_tensordot(d_out, x, weight):
    """tensordot over all leading axes; a list as result."""
    axes = list(range(x.ndim - 1))
    d_weight = np.tensordot(x, d_out, axes=(axes, axes))
    return [np.tensordot(d_out, weight, axes=(-1, 1)), d_weight, d_out.sum(axis=tuple(axes))]


@fair("position_loop", "linear_backward")
def linear_by_loop(upstream, inputs, w):
    """Outer products, position by position; other parameter names."""
    d_x, d_w, d_b = np.zeros(inputs.shape), np.zeros(w.shape), np.zeros(w.shape[1])
    for at in np.ndindex(inputs.shape[:-1]):
        d_x[at] = w @ upstream[at]
        d_w += np.outer(inputs[at], upstream[at])
        d_b += upstream[at]
    return d_x, d_w, d_b


@fair("bias_as_a_row", "linear_backward")
def linear_bias_as_a_row(d_out, x, weight):
    """The bias is one more row of the weight, whose input is 1; Fortran order in the results."""
    ones = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
    both = ones.reshape(-1, ones.shape[-1]).T @ d_out.reshape(-1, d_out.shape[-1])
    return np.asfortranarray(d_out @ weight.T), both[:-1], both[-1]


@fair("explicit_jacobian", "linear_backward")
def linear_by_jacobian(d_out, x, weight):
    """Every slope of every result with respect to every number of the weight, and then a sum."""
    n_in, n_out = weight.shape
    rows, d_rows = x.reshape(-1, n_in), d_out.reshape(-1, n_out)
    slopes = np.einsum("pi,oq->pqio", rows, np.eye(n_out))  # ∂out[p, q] / ∂weight[i, o]
    d_weight = np.einsum("pq,pqio->io", d_rows, slopes)
    return (weight @ d_out[..., None])[..., 0], d_weight, np.ones(len(rows)) @ d_rows


@fair("batch_sum_after", "linear_backward")
def linear_sums_after(d_out, x, weight):
    """A gradient for each sequence first, then the sum over the batch."""
    each, bias = np.swapaxes(x, -1, -2) @ d_out, d_out.sum(axis=-2)
    while each.ndim > 2:
        each, bias = each.sum(axis=0), bias.sum(axis=0)
    return np.matmul(d_out, np.transpose(weight)), each, bias


@fair("noisy", "linear_backward")
def linear_noisy(d_out, x, weight, verbose=True):
    """Prints, warns, and has an optional parameter of its own; read-only results."""
    if verbose:
        print("going back through", weight.shape)
        warnings.warn("gradients ahead", stacklevel=1)
    d_x = d_out @ weight.T
    d_x.setflags(write=False)
    axes = tuple(range(d_out.ndim - 1))
    return d_x, (x[..., :, None] * d_out[..., None, :]).sum(axis=axes), d_out.sum(axis=axes)


@fair("extended_precision", "linear_backward")
def linear_in_longdouble(d_out, x, weight):
    """Sums in extended precision."""
    rows = x.reshape(-1, x.shape[-1]).astype(np.longdouble)
    d_rows = d_out.reshape(-1, d_out.shape[-1]).astype(np.longdouble)
    return d_out @ weight.T, (rows.T @ d_rows).astype(float), d_rows.sum(axis=0).astype(float)


# softmax_backward


@fair("explicit_jacobian", "softmax_backward")
def softmax_by_jacobian(d_weights, weights):
    """diag(w) − w wᵀ for each row."""
    eye = np.eye(weights.shape[-1])
    slopes = weights[..., :, None] * eye - weights[..., :, None] * weights[..., None, :]
    return np.einsum("...i,...ij->...j", d_weights, slopes)


@fair("row_loop", "softmax_backward")
def softmax_by_rows(d_weights, weights):
    """Row by row, number by number."""
    result = np.empty(weights.shape)
    for at in np.ndindex(weights.shape[:-1]):
        w, d = weights[at].tolist(), d_weights[at].tolist()
        mean = sum(a * b for a, b in zip(w, d, strict=True))
        result[at] = [a * (b - mean) for a, b in zip(w, d, strict=True)]
    return result


@fair("two_terms", "softmax_backward")
def softmax_in_two_terms(d_weights, weights):
    """Product first, then minus the weights' share of its sum."""
    product = np.multiply(weights, d_weights)
    return product - weights * np.sum(product, axis=-1)[..., np.newaxis]


@fair("matrix_product", "softmax_backward")
def softmax_by_matmul(d_weights, weights):
    """The weighted mean as a product of a row and a column; in float64 whatever comes in."""
    w, d = weights.astype(np.float64), d_weights.astype(np.float64)
    return w * (d - (w[..., None, :] @ d[..., :, None])[..., 0])


@fair("relative", "softmax_backward")
def softmax_relative(d_weights, weights):
    """Measured from the row's largest d_weights first, which the row of weights takes off again."""
    rest = 1 - weights.sum(axis=-1, keepdims=True)  # 0, or 1 in a row of zeros
    d = d_weights - d_weights.max(axis=-1, keepdims=True)
    return weights * (d - (weights * d).sum(axis=-1, keepdims=True)) * (1 - np.round(rest))


# cross_entropy_backward


@fair("one_hot", "cross_entropy_backward")
def entropy_by_one_hot(logits, targets, ignore_id=None):
    """A one-hot matrix of the vocabulary; ignored ids get a row of zeros and a weight of 0."""
    number = check_some(targets, ignore_id)
    counts = np.ones(targets.shape) if ignore_id is None else (targets != ignore_id) * 1.0
    hot = np.equal.outer(targets, np.arange(logits.shape[-1]))
    return (softmax(logits) - hot) * counts[..., None] / number


@fair("position_loop", "cross_entropy_backward")
def entropy_by_loop(logits, targets, ignore_id=None):
    """Position by position."""
    number = check_some(targets, ignore_id)
    result = np.zeros(logits.shape)
    for at in np.ndindex(targets.shape):
        if ignore_id is not None and targets[at] == ignore_id:
            continue
        row = np.exp(logits[at] - logits[at].max())
        result[at] = row / row.sum()
        result[at + (targets[at],)] -= 1
    return result / number


@fair("by_log_softmax", "cross_entropy_backward")
def entropy_by_log_softmax(logits, targets, ignore_id=None):
    """Probabilities from log_softmax; a flat list of the positions that count."""
    number = check_some(targets, ignore_id)
    flat = targets.reshape(-1)
    kept = np.arange(flat.size) if ignore_id is None else np.flatnonzero(flat != ignore_id)
    rows = np.zeros((flat.size, logits.shape[-1]))
    rows[kept] = np.exp(log_softmax(logits).reshape(rows.shape)[kept])
    rows[kept, flat[kept]] -= 1
    return rows.reshape(logits.shape) / number


@fair("through_the_softmax", "cross_entropy_backward")
def entropy_through_softmax(logits, targets, ignore_id=None):
    """−1/p at the target, and back through the softmax's matrix of slopes; tiny p kept above 0."""
    number = check_some(targets, ignore_id)
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    ids = np.where(counted, targets, 0)[..., None]
    p = softmax(logits)
    chosen = np.take_along_axis(p, ids, axis=-1)
    # d_p · p is −1 at the target, whatever p is there: nothing is divided.
    product = np.zeros_like(p)
    np.put_along_axis(product, ids, np.full(chosen.shape, -1.0, p.dtype), axis=-1)
    result = product - p * product.sum(axis=-1, keepdims=True)
    return np.where(counted[..., None], result, 0) / number


# embedding_backward


@fair("one_hot_product", "embedding_backward")
def table_by_one_hot(d_x, tokens, vocabulary):
    """A one-hot matrix, transposed."""
    hot = (tokens.reshape(-1, 1) == np.arange(vocabulary)).astype(d_x.dtype)
    return hot.T @ d_x.reshape(-1, d_x.shape[-1])


@fair("token_loop", "embedding_backward")
def table_by_token(d_x, tokens, vocabulary):
    """For each token of the vocabulary, the sum over the places where it stands."""
    return np.stack([d_x[tokens == token].sum(axis=0) for token in range(vocabulary)])


@fair("bincount", "embedding_backward")
def table_by_bincount(d_x, tokens, vocabulary):
    """A weighted count for each feature."""
    ids, rows = tokens.ravel(), d_x.reshape(-1, d_x.shape[-1])
    columns = [np.bincount(ids, weights=column, minlength=vocabulary) for column in rows.T]
    return np.stack(columns, axis=-1)


@fair("sorted_and_reduced", "embedding_backward")
def table_by_sorting(d_x, tokens, vocabulary):
    """Sorted by token, then added up run by run."""
    ids, rows = tokens.ravel(), d_x.reshape(-1, d_x.shape[-1])
    order = np.argsort(ids, kind="stable")
    used, first = np.unique(ids[order], return_index=True)
    table = np.zeros((vocabulary, rows.shape[-1]))
    table[used] = np.add.reduceat(rows[order], first, axis=0)
    return table


@fair("position_loop", "embedding_backward")
def table_by_position_loop(grad, ids, n_rows):
    """One += for each position; other parameter names."""
    table = np.zeros((n_rows, grad.shape[-1]))
    for at in np.ndindex(ids.shape):
        table[ids[at]] += grad[at]
    return table
