import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def affine(x, p, name):
    return x @ p["w_" + name] + p["b_" + name]


def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads")
    return np.array(np.split(x, n_heads, axis=-1)).transpose(tuple(range(1, x.ndim - 1)) + (0, x.ndim - 1, x.ndim))


def merge_heads(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


def _mha(x, memory, params, n_heads, mask):
    if mask is not None:
        mask = np.broadcast_to(mask, x.shape[:-1] + (memory.shape[-2],))[..., None, :, :]
    q, k, v = affine(x, params, "q"), affine(memory, params, "k"), affine(memory, params, "v")
    y = attention(*(split_heads(a, n_heads) for a in (q, k, v)), mask)
    return affine(merge_heads(y), params, "o")


def multi_head_attention(x, params, n_heads, mask=None):
    return _mha(x, x, params, n_heads, mask)


def shift_right(tokens, start_id):
    return np.insert(tokens, 0, start_id, axis=-1)[..., :-1]


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return _mha(x, memory, params, n_heads, memory_mask)


def layer_norm(x, gain, bias, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gain + bias


def gelu(x):
    return x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2


def feed_forward(x, params):
    return affine(gelu(affine(x, params, "in")), params, "out")


def decoder_block(x, params, n_heads, mask):
    x = x + multi_head_attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, **params["ln_2"]), params["feed_forward"])


def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    mask = causal_mask(T)
    mask = mask if padding is None else mask & padding
    x = params["embedding"][tokens] + params["position"][:T]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
