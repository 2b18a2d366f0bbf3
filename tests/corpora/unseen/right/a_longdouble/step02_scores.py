import numpy as np


def attention_scores(q, k):
    dtype = np.result_type(q, k, np.float32)
    wide = np.longdouble
    s = np.matmul(q.astype(wide), np.swapaxes(k.astype(wide), -1, -2)) / np.sqrt(wide(q.shape[-1]))
    return s.astype(dtype)
