import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward


def attention_backward(d_out, q, k, v, mask=None):
    p = softmax(attention_scores(q, k))
    ds = softmax_backward(d_out @ np.swapaxes(v, -1, -2), p)
    if mask is not None:
        ds = np.where(mask, ds, 0)
    ds = ds / np.sqrt(k.shape[-1])
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ d_out


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2])
    if padding is not None:
        mask = mask & padding
    d_q, d_k, d_v = attention_backward(d_out, q, k, v, mask)
    dx1, dwq, _ = linear_backward(d_q, x, w_q)
    dx2, dwk, _ = linear_backward(d_k, x, w_k)
    dx3, dwv, _ = linear_backward(d_v, x, w_v)
    return dx1 + dx2 + dx3, dwq, dwk, dwv
