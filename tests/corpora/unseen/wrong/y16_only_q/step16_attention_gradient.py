import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward


def attention_backward(d_out, q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is not None:
        s = apply_mask(s, mask)
    w = softmax(s)
    d_v = np.swapaxes(w, -1, -2) @ d_out
    d_w = d_out @ np.swapaxes(v, -1, -2)
    d_s = softmax_backward(d_w, w) / np.sqrt(q.shape[-1])
    return d_s @ k, np.swapaxes(d_s, -1, -2) @ q, d_v


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    m = causal_mask(x.shape[-2]) if padding is None else causal_mask(x.shape[-2]) & padding
    dq, dk, dv = attention_backward(d_out, q, k, v, m)
    a, gq, _ = linear_backward(dq, x, w_q)
    b, gk, _ = linear_backward(dk, x, w_k)
    c, gv, _ = linear_backward(dv, x, w_v)
    d_x = a + c
    return d_x, gq, gk, gv
