from numpy import einsum


def linear(x, weight, bias=None):
    y = einsum("...i,io->...o", x, weight)
    return y if bias is None else y + bias


def project_qkv(x, w_q, w_k, w_v):
    return tuple(einsum("...ti,io->...to", x, w) for w in (w_q, w_k, w_v))
