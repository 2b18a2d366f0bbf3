def linear(x, weight, bias=None): return x
def project_qkv(x, w_q, w_k, w_v): return x, x, x
