import numpy as np


def attention_scores(q, k, transposed=False):
    k_t = k if transposed else np.moveaxis(k, -1, -2)
    return np.matmul(q / np.sqrt(q.shape[-1]), k_t)
