import numpy as np


def softmax(scores, axis=-1):
    # torch.softmax(scores, dim=axis), with nan_to_num for rows that are all -inf
    dim = axis
    amax = scores.max(axis=dim, keepdims=True)
    with np.errstate(invalid="ignore"):
        exp = np.exp(scores - amax)  # -inf - -inf = nan
        out = exp / exp.sum(axis=dim, keepdims=True)
    return np.nan_to_num(out, nan=0.0)
