"""What counts as a multiplication with a weight."""

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
