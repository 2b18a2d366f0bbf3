import math
import numpy as np

def attention_scores(q, k):
    d_k = k.shape[-2]
    kt = np.swapaxes(k, -2, -1)
    s = (q @ kt) / math.sqrt(d_k)
    return s
