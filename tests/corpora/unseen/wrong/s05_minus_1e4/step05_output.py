from functools import lru_cache
import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

_mask = lru_cache(maxsize=None)(causal_mask)          # only ever read, never handed out


def attention_output(weights, v):
    return weights @ v


def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is not None:
        s = s + np.where(mask, 0.0, -1e4)
    return attention_output(softmax(s), v)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    m = _mask(x.shape[-2])
    if padding is not None:
        m = m & padding
    return attention(*project_qkv(x, w_q, w_k, w_v), m)
