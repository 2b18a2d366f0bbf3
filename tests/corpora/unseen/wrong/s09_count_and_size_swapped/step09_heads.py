import numpy as np
from numpy.typing import NDArray
from exercises.step04_softmax import softmax

def split_heads(x: NDArray, n_heads: int) -> NDArray:
    """(..., T, d_model) -> (..., n_heads, T, d_head)"""
    d_head, left = divmod(x.shape[-1], n_heads)
    if left:
        raise ValueError(f"d_model={x.shape[-1]} is not a multiple of n_heads={n_heads}")
    return np.ascontiguousarray(np.swapaxes(x.reshape(*x.shape[:-1], d_head, n_heads), -2, -3))

def merge_heads(x: NDArray) -> NDArray:
    """(..., n_heads, T, d_head) -> (..., T, d_model)"""
    y = np.ascontiguousarray(np.swapaxes(x, -2, -3))
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])

def fused_qkv(x: NDArray, params: dict, n_heads: int) -> list[NDArray]:
    w = np.concatenate((params["w_q"], params["w_k"], params["w_v"]), axis=1)
    b = np.concatenate((params["b_q"], params["b_k"], params["b_v"]))
    return [split_heads(part, n_heads) for part in np.split(x @ w + b, 3, axis=-1)]

def heads_attend(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None) -> NDArray:
    """mask broadcastable to (..., 1, T, S)"""
    scale = q.dtype.type(1) / np.sqrt(q.dtype.type(q.shape[-1]))
    s = (q * scale) @ k.swapaxes(-1, -2)
    if mask is not None:
        s = np.where(mask, s, s.dtype.type(-np.inf))
    return softmax(s) @ v

def multi_head_attention(x: NDArray, params: dict, n_heads: int, mask: NDArray | None = None) -> NDArray:
    if mask is not None:
        T = x.shape[-2]
        mask = np.expand_dims(np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), (T, T))), -3)
    return merge_heads(heads_attend(*fused_qkv(x, params, n_heads), mask)) @ params["w_o"] + params["b_o"]
