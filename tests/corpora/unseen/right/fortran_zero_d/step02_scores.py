import numpy as np

def attention_scores(q, k):
    """k qT, turned over: a transposed (non-contiguous) result"""
    return ((k @ q.swapaxes(-1, -2)) / np.sqrt(k.shape[-1])).swapaxes(-1, -2)
