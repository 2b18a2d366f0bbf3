import numpy as np

BLOCK = 8


def attention_scores(q, k):
    tq, tk, d = q.shape[-2], k.shape[-2], q.shape[-1]
    out = np.empty(q.shape[:-2] + (tq, tk), dtype=np.result_type(q, k))
    for i in range(0, tq, BLOCK):
        qi = q[..., i : i + BLOCK, :] / np.sqrt(d)
        for j in range(0, tk, BLOCK):
            kj = k[..., j : j + BLOCK, :]
            out[..., i : i + BLOCK, j : j + BLOCK] = qi @ kj.swapaxes(-1, -2)
    return out
