import numpy as np

from exercises.step05_output import attention


def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads must divide d_model")
    y = x.reshape(x.shape[:-1] + (n_heads, x.shape[-1] // n_heads))
    return np.einsum("...thd->...htd", y).copy()


def merge_heads(x):
    y = np.einsum("...htd->...thd", x)
    return y.reshape(y.shape[:-2] + (-1,))


def multi_head_attention(x, params, n_heads, mask=None):
    d_model = x.shape[-1]
    if d_model % n_heads:
        raise ValueError("n_heads")
    d = d_model // n_heads

    def field(name):
        w = params["w_" + name].reshape(d_model, n_heads, d)
        b = params["b_" + name].reshape(n_heads, 1, d)
        return np.einsum("...ti,ihd->...htd", x, w) + b

    if mask is not None:
        mask = np.broadcast_to(mask, x.shape[:-1] + (x.shape[-2],))[..., np.newaxis, :, :]
    o = attention(field("q"), field("k"), field("v"), mask)
    return np.einsum("...htd,hdo->...to", o, params["w_o"].reshape(n_heads, d, d_model)) + params["b_o"]
