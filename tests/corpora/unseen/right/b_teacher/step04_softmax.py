import numpy as np


def softmax(scores, axis=-1):
    # Step 1: the largest score of every slice
    largest = np.amax(scores, axis=axis, keepdims=True)
    # Step 2: a slice of nothing but -inf has no largest score; use 0 there
    nothing_allowed = largest == -np.inf
    largest = np.where(nothing_allowed, 0.0, largest)
    # Step 3: exponentials, at most 1
    exponentials = np.exp(scores - largest)
    # Step 4: normalise, and leave the empty slices at 0
    totals = np.sum(exponentials, axis=axis, keepdims=True)
    totals = np.where(nothing_allowed, 1.0, totals)
    probabilities = exponentials / totals
    assert probabilities.shape == scores.shape
    assert np.all(probabilities >= 0)
    return probabilities
