import numpy as np

from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotate


def repeat_heads(x, n_repeats):
    return np.repeat(x, n_repeats, axis=-3)


def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("n_kv_heads must divide n_heads")
    group = n_heads // n_kv_heads
    scale = np.sqrt(x.shape[-1] / n_heads)
    q = split_heads(x @ params["w_q"], n_heads)
    k = split_heads(x @ params["w_k"], n_kv_heads)
    v = repeat_heads(split_heads(x @ params["w_v"], n_kv_heads), group)
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    scores = np.einsum("...qd,...kd->...qk", q, repeat_heads(k, group)) / scale
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        m = np.asarray(mask)
        scores = apply_mask(scores, m if m.ndim < 3 else np.expand_dims(m, -3))
    return merge_heads(softmax(scores) @ v) @ params["w_o"]
