import math
import numpy as np
print("loading step02 ...")

def attention_scores(q, k):
    print("Q =", q)
    print("K =", k)
    d_k = q.shape[-1]
    kt = np.swapaxes(k, -2, -1)
    s = (q @ kt) / math.sqrt(d_k)
    print("S =", s)
    return s
