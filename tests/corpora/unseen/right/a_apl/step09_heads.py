from numpy import broadcast_to as B
from exercises.step05_output import attention as A


def _no(what):
    raise ValueError(what)


split_heads = lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).swapaxes(-2, -3) if x.shape[-1] % n_heads == 0 else _no("n_heads")
merge_heads = lambda x: (lambda y: y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1]))(x.swapaxes(-2, -3))
multi_head_attention = lambda x, params, n_heads, mask=None: merge_heads(A(*(split_heads(x @ params["w_" + c] + params["b_" + c], n_heads) for c in "qkv"), B(True if mask is None else mask, x.shape[:-1] + x.shape[-2:-1])[..., None, :, :])) @ params["w_o"] + params["b_o"]
