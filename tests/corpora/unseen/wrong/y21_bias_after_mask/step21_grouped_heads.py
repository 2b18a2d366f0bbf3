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
    q = split_heads(x @ params["w_q"], n_heads)
    k = split_heads(x @ params["w_k"], n_kv_heads)
    v = repeat_heads(split_heads(x @ params["w_v"], n_kv_heads), g)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    s = attention_scores(q, repeat_heads(k, g))
    if mask is not None:
        s = np.where(mask if mask.ndim < 3 else mask[..., None, :, :], s, -1e4)
    if bias is not None:
        s = s + bias
    return merge_heads(softmax(s) @ v) @ params["w_o"]
