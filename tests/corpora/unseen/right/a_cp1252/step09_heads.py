# coding=cp1252
# têtes d’attention … Š Ž ™
import numpy as np
from exercises.step05_output import attention


def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads – “pas divisible”")
    return np.stack(np.split(x, n_heads, axis=-1), axis=-3)


def merge_heads(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (split_heads(x @ params[w] + params[b], n_heads) for w, b in (("w_q", "b_q"), ("w_k", "b_k"), ("w_v", "b_v")))
    têtes = [attention(q[..., h, :, :], k[..., h, :, :], v[..., h, :, :], mask) for h in range(n_heads)]
    return np.concatenate(têtes, axis=-1) @ params["w_o"] + params["b_o"]
