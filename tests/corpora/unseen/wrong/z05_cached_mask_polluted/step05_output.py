import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
_MASKS = {}


def attention_output(weights, v):
    return weights @ v


def attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return attention_output(softmax(scores), v)


def _causal_for(shape):
    if shape not in _MASKS:
        _MASKS[shape] = np.broadcast_to(causal_mask(shape[-1]), shape + shape[-1:]).copy()
    return _MASKS[shape]


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = _causal_for(x.shape[:-1])
    if padding is not None:
        mask &= padding
    return attention(q, k, v, mask)
