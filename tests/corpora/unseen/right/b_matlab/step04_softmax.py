import numpy as np


def softmax(scores, axis=-1):
    A = np.moveaxis(scores, axis, 0)  # permute
    P = np.zeros(A.shape)
    n = A.shape[0]
    mx = A[0]
    for i in range(2, n + 1):
        mx = np.maximum(mx, A[i - 1])
    mx = np.where(mx == -np.inf, 0, mx)
    tot = np.zeros(A.shape[1:])
    for i in range(1, n + 1):
        P[i - 1, ...] = np.exp(A[i - 1] - mx)
        tot = tot + P[i - 1]
    tot = np.where(tot == 0, 1, tot)
    for i in range(1, n + 1):
        P[i - 1, ...] = P[i - 1] / tot
    return np.moveaxis(P, 0, axis)  # ipermute
