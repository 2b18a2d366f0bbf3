import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import causal_mask, apply_mask
from exercises.step04_softmax import softmax

_mix = np.vectorize(np.dot, signature="(q,k),(k,d)->(q,d)")

def attention_output(weights, v):
    return _mix(weights, v)

def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is None:
        mask = np.ones((q.shape[-2], k.shape[-2]), dtype=bool)
    return _mix(softmax(apply_mask(s, mask)), v)

def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    if padding is None:
        padding = np.True_
    return attention(*project_qkv(x, w_q, w_k, w_v), causal_mask(x.shape[-2]) & padding)
