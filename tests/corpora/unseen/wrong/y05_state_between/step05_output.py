import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax


def attention_output(weights, v):
    return np.matmul(weights, v)


def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is not None:
        s = apply_mask(s, mask)
    return attention_output(softmax(s), v)


_MASK = None
def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    global _MASK
    T = x.shape[-2]
    if _MASK is None or _MASK.shape[-1] != T:
        _MASK = causal_mask(T)
    if padding is not None:
        _MASK = _MASK & padding
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return attention(q, k, v, _MASK)
