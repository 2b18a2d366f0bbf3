import sys, warnings
import numpy as np
print("loading step01 ...")

def linear(x, weight, bias=None):
    print("linear: x", x.shape, "weight", weight.shape, file=sys.stderr)
    y = np.matmul(x, weight)
    if bias is not None:
        print("adding bias", bias)
        y = y + bias
    print("linear ->", y.shape)
    return y

def project_qkv(x, w_q, w_k, w_v):
    warnings.warn("projecting three times, could be fused", UserWarning)
    q = linear(x, w_q); k = linear(x, w_k); v = linear(x, w_v)
    return [q, k, v][0], [q, k, v][1], [q, k, v][2]
