import math
import numpy as np

def attention_scores(q, k):
    d_k = q.shape[-1]
    kt = np.swapaxes(k, -2, -1)
    q /= math.sqrt(d_k)
    s = q @ kt
    return s
