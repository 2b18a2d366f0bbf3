"""What counts as a multiplication with a weight."""

from collections import namedtuple

import numpy as np
import pytest

from grader.isolation.worker.counting import Counting

T, S, M, K = 5, 11, 3, 2
X, KEYS = np.ones((T, M)), np.ones((S, K))
W, W_2, W_OUT = (np.ones(shape) for shape in ((M, K), (M, K), (K, 4)))


def weight(array):
    return array.view(Counting)


def count(work):
    Counting.products = 0
    work()
    return Counting.products


WAYS = {
    "product of matrices": lambda: X @ weight(W),
    "dot": lambda: np.dot(X, weight(W)),
    "einsum": lambda: np.einsum("tm,mk->tk", X, weight(W)),
    "einsum with keys, of which more are there": lambda: np.einsum(
        "tm,mk,sk->ts", X, weight(W), KEYS
    ),
    "einsum that goes on with another weight": lambda: np.einsum(
        "tm,mk,ko->to", X, weight(W), weight(W_OUT)
    ),
    "einsum with attention before it": lambda: np.einsum(
        "ts,sm,mk->tk", np.ones((S, T)), X, weight(W)
    ),
}


@pytest.mark.parametrize("work", WAYS.values(), ids=WAYS)
def test_projection_counts_its_input_in_any_notation(work):
    assert count(work) == X.size * K


def test_each_weight_counts_for_itself():
    old = np.ones((S, M))
    both = count(lambda: np.einsum("tm,mk,nk,sn->ts", X, weight(W), weight(W_2), old))
    assert both == (X.size + old.size) * K


Pair = namedtuple("Pair", "first second")
AS_USUAL = {
    "a named tuple": lambda w: np.concatenate(Pair(w, w), axis=1),
    "a comparison that says where": lambda w: np.exp(w, where=w > 0, out=np.zeros((M, K))),
    "where in a method": lambda w: w.sum(where=w > 0),
    "where in a reduction": lambda w: np.add.reduce(w, axis=0, initial=0, where=w > 0),
    "a weight that is written into": lambda w: np.add(w, 1, out=np.zeros_like(w)),
    "a method's own name for its argument": lambda w: w.dot(b=np.ones((K, 3))),
    "a masked array": lambda w: np.ma.array(np.ones((M, K)), mask=w > 0) * w,
}


@pytest.mark.parametrize("work", AS_USUAL.values(), ids=AS_USUAL)
def test_weight_gives_what_an_ordinary_array_gives(work):
    right = work(W.copy())
    found = work(weight(W.copy()))
    assert np.array_equal(np.ma.filled(found, 7), np.ma.filled(right, 7))
