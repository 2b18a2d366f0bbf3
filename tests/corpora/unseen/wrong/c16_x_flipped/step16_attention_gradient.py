import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import causal_mask, apply_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import softmax_backward, linear_backward


def attention_backward(d_out, q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is not None:
        s = apply_mask(s, mask)
    p = softmax(s)
    dv = np.einsum("...qk,...qd->...kd", p, d_out)
    dp = np.einsum("...qd,...kd->...qk", d_out, v)
    ds = softmax_backward(dp, p) / np.sqrt(q.shape[-1])
    return ds @ k, np.einsum("...qk,...qd->...kd", ds, q), dv


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2])
    if padding is not None:
        mask = mask & padding
    dq, dk, dv = attention_backward(d_out, q, k, v, mask)
    dx = 0
    dws = []
    for g, w in ((dq, w_q), (dk, w_k), (dv, w_v)):
        gx, gw, _ = linear_backward(g, x[..., ::-1, :], w)
        dx = dx + gx
        dws.append(gw)
    return (dx, *dws)
