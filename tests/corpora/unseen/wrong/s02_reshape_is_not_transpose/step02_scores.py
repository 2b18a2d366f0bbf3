import math
import numpy as np

def attention_scores(q, k):
    d_k = q.shape[-1]
    kt = k.reshape(k.shape[:-2] + (d_k, k.shape[-2]))
    s = (q @ kt) / math.sqrt(d_k)
    return s
