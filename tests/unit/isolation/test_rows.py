"""How many rows meet in one product."""

from collections import deque

import numpy as np
import pytest

from grader.isolation.worker import counting, rows
from grader.isolation.worker.rows import Rows, with_rows

T, S, D, V = 3, 12, 2, 5
CONVERT = np.asanyarray
Q, VALUES = np.ones((T, D)), np.ones((S, V))


@pytest.fixture(autouse=True)
def conversions(monkeypatch):
    for name in counting.CONVERSIONS:
        monkeypatch.setattr(np, name, getattr(np, name))  # so that it is put back
    rows.keep_rows()


def keys(*batch):
    return with_rows(np.ones((*batch, S, D)))


def met(work, k):
    Rows.products = 0
    work(k)
    return Rows.products


FIVE_AT_ONCE = {
    "an average": lambda k: np.average(k[:5], axis=0, weights=np.ones(5)),
    "a slice": lambda k: Q @ k[:5].T,
    "columns": lambda k: Q @ k.T[:, :5],
    "other axes": lambda k: Q @ np.moveaxis(k, 0, 1)[..., 2:7],
    "the method of the other array": lambda k: Q.dot(k[:5].T),
    "its own method": lambda k: k[:5].dot(Q.T),
    "einsum": lambda k: np.einsum("td,sd->ts", Q, k[:5]),
    "a transposing einsum": lambda k: Q @ np.einsum("sd->ds", k)[:, :5],
    "NumPy's other product": lambda k: np.linalg.matmul(Q, k[:5].T),
    "a conversion": lambda k: Q @ np.asarray(k, np.float32)[:5].T,
    "an average over a list of weights": lambda k: np.average(k[:5], 0, [1.0] * 5),
    "queries in a list": lambda k: np.dot(Q.tolist(), k[:5].T),
    "a list of rows": lambda k: Q @ np.array([k[place] for place in range(5)]).T,
    "a list of rows, times a row": lambda k: np.matmul([*k[:5]], k[0]),
    "a list of rows, times a row by NumPy's other product": lambda k: np.dot([*k[:5]], k[0]),
    "a conversion that NumPy is asked for by a name of its own": lambda k: (
        Q @ CONVERT(k, dtype=np.float32)[:5].T
    ),
    "all numbers in order": lambda k: Q @ k.flat[: 5 * D].reshape(-1, D).T,
    "rows one by one": lambda k: Q @ np.stack(list(k)[:5]).T,
    "rows joined with values": lambda k: [
        (Q @ part[:, :D].T, np.ones((T, len(part))) @ part[:, D:])
        for part in [np.concatenate([k, VALUES], axis=-1)[:5]]
    ],
    "weights that belong to rows, times rows": lambda k: (
        np.exp(sum(Q[:, f, None] * k[:5, f] for f in range(D))) @ k[:5]
    ),
    "a copy for each query": lambda k: Q[:, None] @ np.repeat(k[None, :5], T, 0).swapaxes(1, 2),
    "the same for each query": lambda k: np.einsum(
        "td,tsd->ts", Q, np.broadcast_to(k[:5], (T, 5, D))
    ),
    "scaled at first": lambda k: Q @ (k * np.array([0.5]) / np.full(D, 2.0))[:5].T,
    "scaled in place": lambda k: Q @ np.multiply(k[:5].copy(), 2, out=k[:5].copy()).T,
    "padded to whole blocks": lambda k: Q @ np.pad(k, [(0, 3), (0, 0)])[-8:].T,
    "blocks with an axis of their own": lambda k: [
        Q @ part.T for part in np.pad(k, [(0, 3), (0, 0)]).reshape(3, 5, D)
    ],
    "split": lambda k: Q @ np.split(k, [5], axis=0)[0].T,
    "split evenly": lambda k: Q @ np.array_split(k[:10], 2)[0].T,
    "with others set to zero": lambda k: Q @ np.where(np.arange(S)[:, None] < 5, k, 0).T,
    "by numbers": lambda k: Q @ np.take(k, np.arange(5), axis=0).T,
    "number by number": lambda k: (Q[:, None] * k[:5]).sum(-1),
    "number by number, another sum": lambda k: np.sum(Q[:, None] * k[:5], axis=-1),
    "number by number, added": lambda k: np.add.reduce(Q[:, None] * k[:5], axis=-1),
}


@pytest.mark.parametrize("work", FIVE_AT_ONCE.values(), ids=FIVE_AT_ONCE)
def test_rows_of_a_product_are_noted_in_any_notation(work):
    assert met(work, keys()) == 5


def test_rows_of_several_sequences_are_the_same_ones():
    assert met(lambda k: np.ones((4, T, D)) @ k[:, :5].swapaxes(-1, -2), keys(4)) == 5


def test_what_was_added_up_belongs_to_no_row():
    """Else the results of all blocks, each one key long, would be a product with all keys."""

    def partials(k):
        return np.stack([0 + Q[0] * k[place] for place in range(S)])

    assert met(lambda k: (partials(k) * VALUES[:, :1]).sum(0), keys()) == 1


NO_PRODUCT = {
    "the largest": lambda k: k.max(axis=-2),
    "a check": lambda k: np.isfinite(k).all() and (k > 0).sum(),
    "scaling": lambda k: k * 2 + np.ones(D),
    "a conversion with a name of its own": lambda k: CONVERT(k, dtype=np.longdouble),
    "results of many rows": lambda k: [
        (np.stack([(k[i : i + 2] * Q[0, :1]).max(-1) for i in range(0, S, 2)]) * 2.0).sum(0)
    ],
    "a mean": lambda k: k - k.mean(axis=0),
    "a product of its results": lambda k: (Q @ k[:0].T) @ VALUES[:0] + (Q * Q).sum(),
}


@pytest.mark.parametrize("work", NO_PRODUCT.values(), ids=NO_PRODUCT)
def test_rows_that_meet_in_no_product_are_not_noted(work):
    assert met(work, keys()) == 0


def test_product_with_the_shape_of_the_keys_has_no_rows_of_theirs():
    """It is made by the other array's method, which tells nobody."""

    def work(k):
        made = [np.ones((2, 2)).dot(k[i : i + 2]) for i in range(0, S, 2)]
        return (np.ones((S // 2, 1, 1)) * np.array(made)).sum(axis=0)

    assert met(work, keys()) <= 2


AS_USUAL = {
    "a slice": lambda k: k[2:, 1],
    "a loop": lambda k: np.array([row.sum() for row in k]),
    "a loop in a function": lambda k: np.apply_along_axis(lambda row: row[::-1], -1, k),
    "the method of the other array": lambda k: Q.dot(k.T) * 2,
    "in place": lambda k: np.multiply(k, 2, out=k) + k,
    "split": lambda k: np.concatenate(np.split(k, 3)[::-1]),
    "a list": lambda k: np.array(k.tolist()),
    "a deque": lambda k: np.stack(deque([k, k.dot(np.ones((D, D)))])),
    "numbers in order": lambda k: k.flat[3:9] + np.array([*k.T.flat])[:6],
    "written in order": lambda k: (k.flat.__setitem__(slice(1, 4), 9), k)[1],
    "another type": lambda k: np.array(k, dtype=np.float32, ndmin=3),
    "sorted": lambda k: (k.sort(axis=0), k)[1],
    "a choice": lambda k: np.where(k > 3, k, -np.inf),
    "a masked array beside it": lambda k: (
        (k * np.ma.array(np.ones((S, D)), mask=np.arange(S * D).reshape(S, D) % 3 > 0)).sum(0)
    ).filled(7),
    "taken into a buffer": lambda k: k.take([1, 2], axis=0, out=np.ones((2, D)), mode="clip"),
    "the largest, into a buffer": lambda k: k.max(axis=-1, keepdims=True, out=np.ones((S, 1))),
    "cut into a buffer": lambda k: k.clip(1, 3, out=np.ones((S, D))),
    "rounded into a buffer": lambda k: k.round(1, np.ones((S, D))),
    "converted elsewhere": lambda k: CONVERT(k, dtype=np.float32) * 2,
    "numbers": lambda k: k[np.argmax(k, axis=0)] + k.item(3),
    "filled": lambda k: np.full_like(k, 7) + np.zeros_like(k),
}


@pytest.mark.parametrize("work", AS_USUAL.values(), ids=AS_USUAL)
def test_rows_give_what_an_ordinary_array_gives(work):
    ordinary = np.arange(S * D).reshape(S, D) % 7.0
    right, found = work(ordinary.copy()), work(with_rows(ordinary.copy()))
    assert np.array_equal(found, right)
    assert found.dtype == right.dtype
