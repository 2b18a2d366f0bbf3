import numpy as np

from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def cons(a, rest):
    return np.concatenate([a, rest], axis=-1)


def shift_right(tokens, start_id):
    return cons(np.full_like(tokens[..., :1], start_id), tokens[..., :-1])


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    def proj(name):
        return lambda z: split_heads(z @ params["w_" + name] + params["b_" + name], n_heads)

    def headed(m):
        return None if m is None else headed(np.asarray(m)[None]) if np.ndim(m) < 2 else np.expand_dims(m, -3)

    return (
        merge_heads(attention(proj("q")(x), proj("k")(memory), proj("v")(memory), headed(memory_mask))) @ params["w_o"]
        + params["b_o"]
    )
