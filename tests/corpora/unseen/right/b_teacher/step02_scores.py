import math

import numpy as np


def attention_scores(q, k):
    assert q.shape[-1] == k.shape[-1], "queries and keys live in the same space"
    head_dimension = q.shape[-1]
    axes = list(range(k.ndim))
    axes[-1], axes[-2] = axes[-2], axes[-1]
    keys_transposed = np.transpose(k, axes)
    dot_products = np.matmul(q, keys_transposed)
    assert dot_products.shape[-2:] == (q.shape[-2], k.shape[-2])
    return dot_products / math.sqrt(head_dimension)
