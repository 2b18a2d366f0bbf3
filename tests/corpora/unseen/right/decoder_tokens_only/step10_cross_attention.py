import numpy as np
from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads

def shift_right(tokens, start_id):
    shifted = np.roll(tokens.astype(np.int64), 1, axis=-1)
    shifted[..., 0] = start_id
    return shifted

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    def project(z, name):
        return split_heads(linear(z, params["w_" + name], params["b_" + name]), n_heads)
    mask = True if memory_mask is None else memory_mask
    mask = np.broadcast_to(mask, x.shape[:-1] + (memory.shape[-2],))[..., np.newaxis, :, :]
    heads = attention(project(x, "q"), project(memory, "k"), project(memory, "v"), mask)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])
