import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

def attention_output(weights, v):
    return np.einsum("...kq,...kd->...qd", weights, v)

def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    return attention_output(softmax(s if mask is None else apply_mask(s, mask)), v)

def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    allowed = causal_mask(x.shape[-2])
    return attention(*project_qkv(x, w_q, w_k, w_v), allowed if padding is None else allowed & padding)
