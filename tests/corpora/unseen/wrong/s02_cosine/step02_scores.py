import numpy as np

def attention_scores(q, k):
    """k qT, turned over: a transposed (non-contiguous) result"""
    return ((k @ q.swapaxes(-1, -2)) / (np.linalg.norm(k, axis=-1)[..., :, None] * np.linalg.norm(q, axis=-1)[..., None, :])).swapaxes(-1, -2)
