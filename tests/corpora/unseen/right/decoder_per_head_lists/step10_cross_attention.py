import numpy as np
from exercises.step05_output import attention
from exercises.step09_heads import head_slices

def shift_right(tokens, start_id):
    columns = [tokens[..., t].astype(np.int64) for t in range(tokens.shape[-1])]
    columns = [np.full(tokens.shape[:-1], start_id)] + columns[:-1]
    return np.stack(columns, axis=-1)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    results = []
    for s in head_slices(x.shape[-1], n_heads):
        q, k, v = (z @ params["w_" + c][:, s] + params["b_" + c][s] for z, c in ((x, "q"), (memory, "k"), (memory, "v")))
        results.append(attention(q, k, v, memory_mask))
    return np.concatenate(results, axis=-1) @ params["w_o"] + params["b_o"]
