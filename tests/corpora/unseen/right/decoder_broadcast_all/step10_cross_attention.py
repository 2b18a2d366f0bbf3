import numpy as np
from exercises.step09_heads import dot_product, merge_heads, split_heads

def shift_right(tokens, start_id):
    t = np.arange(tokens.shape[-1])
    return np.where(t == 0, np.int64(start_id), tokens[..., t - 1].astype(np.int64))

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    seen = np.ones(memory.shape[-2], bool) if memory_mask is None else memory_mask
    seen = np.broadcast_to(seen, x.shape[:-1] + (memory.shape[-2],))
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(memory @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(memory @ params["w_v"] + params["b_v"], n_heads)
    return merge_heads(dot_product(q, k, v, seen[..., None, :, :])) @ params["w_o"] + params["b_o"]
