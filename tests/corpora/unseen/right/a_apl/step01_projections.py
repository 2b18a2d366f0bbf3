linear = lambda x, weight, bias=None: x @ weight + (0 if bias is None else bias)
project_qkv = lambda x, w_q, w_k, w_v: tuple(linear(x, w) for w in (w_q, w_k, w_v))
