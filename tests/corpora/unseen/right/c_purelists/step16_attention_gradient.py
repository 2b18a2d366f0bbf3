import math
import numpy as np
from exercises.helpers import per_sequence, mm, tr, dot, weights

@per_sequence((2, 2, 2, 2, 2))
def backward(d_out, q, k, v, mask):
    c = 1 / math.sqrt(len(q[0]))
    w = [weights([x * c for x in row], m)[0] for row, m in zip(mm(q, tr(k)), mask)]
    ds = []
    for d, p in zip(mm(d_out, tr(v)), w):
        s = dot(d, p)
        ds.append([a * (b - s) * c for a, b in zip(p, d)])
    return mm(ds, k), mm(tr(ds), q), mm(tr(w), d_out)

def attention_backward(d_out, q, k, v, mask=None):
    return backward(d_out, q, k, v, np.broadcast_to(True if mask is None else mask, q.shape[:-1] + k.shape[-2:-1]))

def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    lead = x.shape[:-2]
    mask = np.tri(x.shape[-2], dtype=bool) & (True if padding is None else padding)
    ws = [w_q, w_k, w_v]
    proj = per_sequence((2, 2))(lambda a, b: (mm(a, b),))
    ds = attention_backward(d_out, *(proj(x, w)[0] for w in ws), mask)
    d_x = sum(proj(d, w.T)[0] for d, w in zip(ds, ws))
    flat = lambda a: a.reshape(-1, a.shape[-1]).tolist()
    return d_x, *(np.array(mm(tr(flat(x)), flat(d))) for d in ds)
