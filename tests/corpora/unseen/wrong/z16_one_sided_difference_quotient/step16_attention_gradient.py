import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward
from exercises.step05_output import attention


def _numeric(f, z, h=1e-4):
    z = np.array(z, dtype=float)
    grad = np.zeros_like(z)
    base = f(z)
    for i in np.ndindex(z.shape):
        keep = z[i]
        z[i] = keep + h
        grad[i] = (f(z) - base) / h
        z[i] = keep
    return grad


def attention_backward(d_out, q, k, v, mask=None):
    d_q = _numeric(lambda z: np.sum(d_out * attention(z, k, v, mask)), q)
    d_k = _numeric(lambda z: np.sum(d_out * attention(q, z, v, mask)), k)
    d_v = _numeric(lambda z: np.sum(d_out * attention(q, k, z, mask)), v)
    return d_q, d_k, d_v


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2])
    if padding is not None:
        mask = mask & padding
    d_q, d_k, d_v = attention_backward(d_out, q, k, v, mask)
    dx_q, d_w_q, _ = linear_backward(d_q, x, w_q)
    dx_k, d_w_k, _ = linear_backward(d_k, x, w_k)
    dx_v, d_w_v, _ = linear_backward(d_v, x, w_v)
    return dx_q + dx_k + dx_v, d_w_q, d_w_k, d_w_v
