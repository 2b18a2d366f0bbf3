import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotate


def repeat_heads(x, n_repeats):
    return np.repeat(x, n_repeats, axis=-3)


def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("heads")
    g = n_heads // n_kv_heads
    q, k = x @ params["w_q"], x @ params["w_k"]
    if angles is not None:
        q = rotate(q, np.concatenate([angles] * n_heads, -1))
        k = rotate(k, np.concatenate([angles] * n_kv_heads, -1))
    q = split_heads(q, n_heads)
    k = repeat_heads(split_heads(k, n_kv_heads), g)
    v = repeat_heads(split_heads(x @ params["w_v"], n_kv_heads), g)
    s = attention_scores(q, k)
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = apply_mask(s, mask if mask.ndim < 3 else mask[..., None, :, :])
    return merge_heads(softmax(s) @ v) @ params["w_o"]
