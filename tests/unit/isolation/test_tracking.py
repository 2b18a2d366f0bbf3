"""What arrays note of the products that are made with them."""

import functools
import operator
from collections import deque, namedtuple

import numpy as np
import pytest

from grader.isolation.worker import tracking
from grader.isolation.worker.tracking import Rows, Weights, track

T, S, M, K, D, V = 5, 12, 3, 2, 2, 5
X, KEYS = np.ones((T, M)), np.ones((S, K))
W = np.ones((M, K))
Q, VALUES = np.ones((3, D)), np.ones((S, V))
CONVERT = np.asanyarray


@pytest.fixture(autouse=True)
def conversions(monkeypatch):
    for name in tracking.CONVERSIONS:
        monkeypatch.setattr(np, name, getattr(np, name))  # so that it is put back
    tracking.keep_tracks()


def weight(array):
    return track(array, Weights)


def count(work):
    Weights.products = 0
    work()
    return Weights.products


def keys(*batch):
    return track(np.ones((*batch, S, D)), Rows)


def met(work, k):
    Rows.products = 0
    work(k)
    return Rows.products


WAYS = {
    "product of matrices": lambda: X @ weight(W),
    "dot": lambda: np.dot(X, weight(W)),
    "einsum": lambda: np.einsum("tm,mk->tk", X, weight(W)),
    "einsum with keys, of which more are there": lambda: np.einsum(
        "tm,mk,sk->ts", X, weight(W), KEYS
    ),
    "einsum in the form of lists": lambda: np.einsum(
        X, [0, 1], weight(W), [1, 2], KEYS, [3, 2], [0, 3]
    ),
    "product of several, with keys": lambda: np.linalg.multi_dot([X, weight(W), KEYS.T]),
    "einsum with attention before it": lambda: np.einsum(
        "ts,sm,mk->tk", np.ones((S, T)), X, weight(W)
    ),
}


COLUMNS = range(K)
WAYS |= {
    "the method of the other array": lambda: X.dot(weight(W)),
    "a copy": lambda: X @ weight(W).copy(),
    "another layout": lambda: X @ np.ascontiguousarray(weight(W).T).T,
    "a conversion": lambda: X @ np.asarray(weight(W)),
    "a new array": lambda: X @ np.array(weight(W), dtype=float),
    "a new array of several": lambda: X @ np.array([weight(W)]),
    "an array of any class": lambda: X @ np.asanyarray(weight(W), dtype=np.float32),
    "a column at a time": lambda: [X @ weight(W)[:, j] for j in COLUMNS],
    "a row at a time": lambda: sum(X[:, i : i + 1] * weight(W)[i] for i in range(M)),
    "a number at a time": lambda: [np.dot(x, weight(W)[:, j]) for x in X for j in COLUMNS],
    "all products before a sum": lambda: (X[:, :, None] * weight(W)).sum(1),
    "split columns": lambda: [X @ w for w in np.split(weight(W), K, axis=1)],
    "columns by their numbers": lambda: X @ np.take(weight(W), np.arange(K), axis=1),
    "NumPy's other product": lambda: np.linalg.matmul(X, weight(W)),
    "a chain": lambda: np.linalg.multi_dot([X, weight(W)]),
    "a list of rows": lambda: np.dot([*X], weight(W)),
    "a tuple of lists of numbers": lambda: np.tensordot(tuple(X.tolist()), weight(W), 1),
    "einsum of a list": lambda: np.einsum("tm,mk->tk", X.tolist(), weight(W)),
    "einsum of a list, in the form of lists": lambda: np.einsum(
        X.tolist(), [0, 1], weight(W), [1, 2], [0, 2]
    ),
    "a chain of lists": lambda: np.linalg.multi_dot([X.tolist(), weight(W)]),
    "a list by its name": lambda: np.dot(b=weight(W), a=[*X]),
    "each column in a function": lambda: np.apply_along_axis(lambda w: X @ w, 0, weight(W)),
    "each row in a function": lambda: np.apply_along_axis(np.dot, -1, X, weight(W)),
    "a product whose result is used": lambda: (
        (X.dot(weight(W)).copy() + 1).reshape(-1) @ np.ones(T * K)
    ),
}


def add_rows(x, w):
    out = np.zeros(K)
    for i in range(M):
        out = out + x[i] * w[i]
    return out


def add_rows_in_place(x, w):
    out = x[..., 0] * w[0]
    for i in range(1, M):
        out += w[i] * x[..., i]
    return out


def write_into(x, w):
    out = w[0].copy()
    np.matmul(x, w, out=out)
    return out


def scale_a_copy(x, w):
    copied = w.copy()
    for i in range(M):
        copied[i] *= x[i]
    return copied.sum(axis=0)


def fill_a_copied_row(x, w):
    out = np.array(w[0])
    out[:] = x @ w
    return out


def terms(x, w):
    return [number * row for number, row in zip(x, w)]


PROJECTIONS = {
    "a product": lambda x, w: x @ w,
    "a product of a list": lambda x, w: np.dot(x.tolist(), w),
    "an average": lambda x, w: np.average(w, 0, weights=x.tolist()) * x.sum(),
    "a sum of rows": lambda x, w: sum(terms(x, w)),
    "a loop over rows": add_rows,
    "a loop over rows that adds in place": add_rows_in_place,
    "a fold": lambda x, w: functools.reduce(operator.add, map(operator.mul, x, w)),
    "an array of terms": lambda x, w: np.array(terms(x, w)).sum(axis=0),
    "a stack of terms": lambda x, w: np.sum(np.stack(terms(x, w)), axis=0),
    "a running sum": lambda x, w: np.cumsum(np.array(terms(x, w)), axis=0)[-1],
    "an einsum of terms": lambda x, w: np.einsum("mk->k", np.array(terms(x, w))),
    "dot with a number": lambda x, w: sum(map(np.dot, x, w)),
    "an outer product with a number": lambda x, w: sum(map(np.outer, x, w))[0],
    "all products before a sum": lambda x, w: (x[:, None] * w).sum(0),
    "a buffer of a weight's type": write_into,
    "a copy of the weight, multiplied": scale_a_copy,
    "a copy of a row, filled": fill_a_copied_row,
}


@pytest.mark.parametrize("project", PROJECTIONS.values(), ids=PROJECTIONS)
def test_result_of_a_projection_is_no_weight(project):
    """Some loops over single numbers hide their work. None makes work of other products."""
    made = []
    assert count(lambda: made.extend(project(x, weight(W)) for x in X)) <= X.size * K
    assert count(lambda: [KEYS[:, :K] @ np.array(made).T, np.stack(made).T @ np.ones(T)]) == 0
    assert np.allclose(made, X @ W)


WAYS |= {
    "places": lambda: X @ np.split(weight(W), [0], axis=1)[1],
    "a shape": lambda: X @ np.reshape(weight(W), [M, K]),
    "axes": lambda: X @ np.transpose(weight(W), [0, 1]),
    "scaled by a number": lambda: X @ (weight(W) * 1.0),
    "scaled by one of NumPy": lambda: X @ (weight(W) * (1 / np.sqrt(K))),
    "joined with another": lambda: X @ np.concatenate([weight(W), weight(W)], axis=1)[:, :K],
}
MADE = {
    "as wide as a weight": lambda w: KEYS @ np.zeros_like(w, shape=(S, K)).T,
    "of the same shape": lambda w: KEYS @ np.full_like(w, 1).T,
    "rows of zeros that are repeated": lambda w: KEYS @ np.tile(np.zeros_like(w[0]), (S, 1)).T,
    "joined with an empty part of a weight": lambda w: KEYS @ np.concatenate([w[:0], KEYS]).T,
    "an integral of a list": lambda w: np.ones((T, M)) @ np.interp(w[:, 0], [0.0, 1.0], [0.0, 2.0]),
}
COUNTS = {
    **{name: (work, X.size * K) for name, work in WAYS.items()},
    **{name: (lambda make=make: make(weight(W)), 0) for name, make in MADE.items()},
}


@pytest.mark.parametrize(("work", "counted"), COUNTS.values(), ids=COUNTS)
def test_projection_counts_its_input_in_any_notation(work, counted):
    assert count(work) == counted


def test_result_of_a_product_is_no_weight():
    made = X.dot(weight(W))
    assert count(lambda: KEYS[:, :K] @ made.T) == count(lambda: np.ones((2, T)) @ made) == 0
    assert count(lambda: KEYS[:, :K] @ np.asarray(made.T[:, :2]) + made[0, 0]) == 0


Pair = namedtuple("Pair", "first second")
AS_USUAL = {
    "a named tuple": lambda w: np.concatenate(Pair(w, w), axis=1),
    "a deque": lambda w: np.stack(deque([w, w.dot(np.ones((K, K)))])),
    "where in a method": lambda w: w.sum(where=w > 0),
    "a copy that is written into": lambda w: (c := w.copy(), np.copyto(c, w * 2))[0],
    "a product of the other's method": lambda w: np.ones((T, M)).dot(w) * 2,
    "sorted in place": lambda w: (w.sort(axis=0), w)[1],
    "the type of a copy": lambda w: np.array(w, dtype=np.float32, copy=True, ndmin=3),
    "a masked array": lambda w: np.ma.array(np.ones((M, K)), mask=w > 0) * w,
    "a loop": lambda k: np.array([row.sum() for row in k]),
    "a loop in a function": lambda k: np.apply_along_axis(lambda row: row[::-1], -1, k),
    "numbers in order": lambda k: k.flat[:4] + np.array([*k.T.flat])[:4],
    "written in order": lambda k: (k.flat.__setitem__(slice(1, 4), 9), k)[1],
    "a choice": lambda k: np.where(k > 3, k, -np.inf),
    "a masked array beside it": lambda k: (
        (k * np.ma.array(np.ones((M, K)), mask=np.arange(M * K).reshape(M, K) % 3 > 0)).sum(0)
    ).filled(7),
    "the largest, into a buffer": lambda k: k.max(axis=-1, keepdims=True, out=np.ones((M, 1))),
    "converted elsewhere": lambda k: CONVERT(k, dtype=np.float32) * 2,
    "filled": lambda k: np.full_like(k, 7) + np.zeros_like(k),
}


@pytest.mark.parametrize("kind", [Weights, Rows])
@pytest.mark.parametrize("work", AS_USUAL.values(), ids=AS_USUAL)
def test_tracked_array_gives_what_an_ordinary_array_gives(work, kind):
    ordinary = np.arange(M * K).reshape(M, K) % 7.0
    right, found = work(ordinary.copy()), work(track(ordinary.copy(), kind))
    assert np.array_equal(np.ma.filled(found, 7), np.ma.filled(right, 7))


FIVE_AT_ONCE = {
    "a slice": lambda k: Q @ k[:5].T,
    "columns": lambda k: Q @ k.T[:, :5],
    "other axes": lambda k: Q @ np.moveaxis(k, 0, 1)[..., 2:7],
    "the method of the other array": lambda k: Q.dot(k[:5].T),
    "its own method": lambda k: k[:5].dot(Q.T),
    "einsum": lambda k: np.einsum("td,sd->ts", Q, k[:5]),
    "NumPy's other product": lambda k: np.linalg.matmul(Q, k[:5].T),
    "a conversion": lambda k: Q @ np.asarray(k, np.float32)[:5].T,
    "queries in a list": lambda k: np.dot(Q.tolist(), k[:5].T),
    "a list of rows": lambda k: Q @ np.array([k[place] for place in range(5)]).T,
    "a list of rows, times a row": lambda k: np.matmul([*k[:5]], k[0]),
    "rows one by one": lambda k: Q @ np.stack(list(k)[:5]).T,
    "weights that belong to rows, times rows": lambda k: (
        np.exp(sum(Q[:, f, None] * k[:5, f] for f in range(D))) @ k[:5]
    ),
    "scaled": lambda k: Q @ (k * np.array([0.5]) / np.sqrt(D))[:5].T,
    "split": lambda k: Q @ np.split(k, [5], axis=0)[0].T,
    "split evenly": lambda k: Q @ np.array_split(k[:10], 2)[0].T,
    "by numbers": lambda k: Q @ np.take(k, np.arange(5), axis=0).T,
    "number by number": lambda k: (Q[:, None] * k[:5]).sum(-1),
    "number by number, added": lambda k: np.add.reduce(Q[:, None] * k[:5], axis=-1),
}
NO_PRODUCT = {
    "the largest": lambda k: k.max(axis=-2),
    "a check": lambda k: np.isfinite(k).all() and (k > 0).sum(),
    "scaling": lambda k: k * 2 + np.ones(D),
    "scaling by arrays": lambda k: Q @ (k / np.full(D, 2.0))[:5].T,
    "a conversion with a name of its own": lambda k: CONVERT(k, dtype=np.longdouble),
    "a transposing einsum": lambda k: np.einsum("sd->ds", k),
    "results of many rows": lambda k: [
        (np.stack([(k[i : i + 2] * Q[0, :1]).max(-1) for i in range(0, S, 2)]) * 2.0).sum(0)
    ],
    "results that were added up": lambda k: (
        np.stack([0 + Q[0] * k[place] for place in range(S)]) * VALUES[:, :1]
    ).sum(0),
    "rows joined with values": lambda k: np.concatenate([k, VALUES], axis=-1)[:5, D:] * 2,
    "the same rows for each query": lambda k: (
        Q[:, None] @ np.repeat(k[None, :5], 3, 0).swapaxes(1, 2)
    ),
    "padded to whole blocks": lambda k: Q @ np.pad(k, [(0, 3), (0, 0)])[-8:].T,
    "with others set to zero": lambda k: Q @ np.where(np.arange(S)[:, None] < 5, k, 0).T,
    "a mean": lambda k: k - k.mean(axis=0),
    "a product of its results": lambda k: (Q @ k[:0].T) @ VALUES[:0] + (Q * Q).sum(),
}


MET = {
    **{name: (work, 5) for name, work in FIVE_AT_ONCE.items()},
    **{name: (work, 0) for name, work in NO_PRODUCT.items()},
}


@pytest.mark.parametrize(("work", "rows"), MET.values(), ids=MET)
def test_rows_of_a_product_are_noted(work, rows):
    assert met(work, keys()) == rows


def test_rows_of_several_sequences_are_the_same_ones():
    assert met(lambda k: np.ones((4, 3, D)) @ k[:, :5].swapaxes(-1, -2), keys(4)) == 5
