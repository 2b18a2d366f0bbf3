import math

import numpy as np

from exercises.step01_projections import linear
from exercises.step04_softmax import softmax as F_softmax


def attention_output(weights, v):
    return np.matmul(weights, v)


def scaled_dot_product_attention(query, key, value, attn_mask=None, is_causal=False):
    L, S = query.shape[-2], key.shape[-2]
    scale_factor = 1 / math.sqrt(query.shape[-1])
    attn_bias = np.zeros((L, S), dtype=query.dtype)
    if is_causal:
        temp_mask = np.tril(np.ones((L, S), dtype=bool), k=0)
        attn_bias[~temp_mask] = float("-inf")
    if attn_mask is not None:
        attn_bias = attn_bias + np.where(attn_mask, 0.0, float("-inf"))
    attn_weight = query @ key.swapaxes(-2, -1) * scale_factor
    attn_weight = attn_weight + attn_bias
    attn_weight = F_softmax(attn_weight, -1)
    return attention_output(attn_weight, value)


def attention(q, k, v, mask=None):
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    return scaled_dot_product_attention(
        linear(x, w_q), linear(x, w_k), linear(x, w_v), attn_mask=padding, is_causal=True
    )
