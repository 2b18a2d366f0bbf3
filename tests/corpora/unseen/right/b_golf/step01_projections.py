def linear(x, w=None, b=None, weight=None, bias=None):
    w = weight if w is None else w; b = bias if b is None else b
    return x @ w if b is None else x @ w + b
def project_qkv(x, w_q, w_k, w_v): return *(x @ w for w in (w_q, w_k, w_v)),
