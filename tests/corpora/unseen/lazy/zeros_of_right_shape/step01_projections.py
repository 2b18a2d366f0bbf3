import numpy as np
def linear(x, weight, bias=None): return np.zeros(x.shape[:-1] + weight.shape[1:])
def project_qkv(x, w_q, w_k, w_v): return linear(x, w_q), linear(x, w_k), linear(x, w_v)
