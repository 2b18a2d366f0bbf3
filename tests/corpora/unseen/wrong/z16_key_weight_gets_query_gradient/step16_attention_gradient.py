import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward


def attention_backward(d_out, q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    weights = softmax(scores)
    d_v = np.swapaxes(weights, -1, -2) @ d_out
    d_weights = d_out @ np.swapaxes(v, -1, -2)
    d_scores = softmax_backward(d_weights, weights) / np.sqrt(q.shape[-1])
    return d_scores @ k, np.swapaxes(d_scores, -1, -2) @ q, d_v


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(x.shape[-2])
    if padding is not None:
        mask = mask & padding
    d_q, d_k, d_v = attention_backward(d_out, q, k, v, mask)
    d_x = np.zeros_like(x)
    part, d_w_q, _ = linear_backward(d_q, x, w_q)
    d_x = d_x + part
    part, d_w_k, _ = linear_backward(d_q, x, w_k)
    d_x = d_x + part
    part, d_w_v, _ = linear_backward(d_v, x, w_v)
    d_x = d_x + part
    return d_x, d_w_q, d_w_k, d_w_v
