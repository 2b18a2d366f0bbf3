import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step04_softmax import softmax
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotate


def repeat_heads(x, n_repeats):
    return np.repeat(x, n_repeats, axis=-3)


def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("n_heads must be a multiple of n_kv_heads")
    heads = {"q": n_heads, "k": n_kv_heads, "v": n_kv_heads}
    parts = {}
    for name, n in heads.items():
        part = split_heads(x @ params["w_" + name], n)
        if angles is not None:
            part = rotate(part, angles)
        parts[name] = repeat_heads(part, n_heads // n)
    scores = attention_scores(parts["q"], parts["k"])
    if mask is not None:
        mask = np.asarray(mask)
        if mask.ndim > 2:
            mask = mask[..., None, :, :]
        scores = scores + np.where(mask, 0.0, -1e4)
    if bias is not None:
        scores = scores + bias
    return merge_heads(softmax(scores) @ parts["v"]) @ params["w_o"]
