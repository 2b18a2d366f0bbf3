import numpy as np
from exercises.helpers import Tape, attend

def attention_backward(d_out, q, k, v, mask=None):
    tape = Tape()
    leaves = [tape.var(a) for a in (q, k, v)]
    tape.backward(attend(*leaves, mask), d_out)
    return tuple(a.grad for a in leaves)

def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    tape = Tape()
    x, *w = leaves = [tape.var(a) for a in (x, w_q, w_k, w_v)]
    mask = np.tri(x.shape[-2], dtype=bool)
    if padding is not None: mask = mask & padding
    tape.backward(attend(*(x @ a for a in w), mask), d_out)
    return tuple(a.grad for a in leaves)
