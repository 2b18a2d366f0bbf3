from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def _np():
    import numpy

    return numpy


def shift_right(tokens, start_id):
    def walk(t):
        return [walk(s) for s in t] if isinstance(t[0], list) else [start_id, *t[:-1]]

    return _np().array(walk(tokens.tolist()))


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k, v = (split_heads(linear(memory, params["w_" + c], params["b_" + c]), n_heads) for c in "kv")
    if memory_mask is not None:
        memory_mask = _np().broadcast_to(memory_mask, x.shape[:-1] + memory.shape[-2:-1])
        memory_mask = memory_mask.reshape(x.shape[:-2] + (1,) + memory_mask.shape[-2:])
    return linear(merge_heads(attention(q, k, v, memory_mask)), params["w_o"], params["b_o"])
