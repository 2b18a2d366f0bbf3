import numpy as np


def linear(x, weight, bias=None):
    w = weight.tolist()
    result = np.zeros(x.shape[:-1] + (weight.shape[1],))
    for index in np.ndindex(*x.shape[:-1]):
        row = x[index].tolist()
        for j in range(weight.shape[1]):
            total = 0.0
            for i in range(len(row)):
                total = total + row[i] * w[i][j]
            if bias is not None:
                total = total + bias[j]
            result[index + (j,)] = total
    return result


def project_qkv(x, w_q, w_k, w_v):
    q = linear(x, w_q)
    k = linear(x, w_k)
    v = linear(x, w_v)
    return q, k, v
