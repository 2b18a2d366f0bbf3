# -*- coding: latin-1 -*-
"""A little of torch.nn.functional, for those who miss it. Größe und Länge wie dort."""
import numpy as np
class F:
    @staticmethod
    def linear(x, weight, bias=None):          # torch: weight is (out, in)
        y = np.matmul(x, weight.T)
        return y if bias is None else y + bias
    @staticmethod
    def softmax(x, dim):
        m = np.amax(x, axis=dim, keepdims=True)
        m = np.where(m == -np.inf, np.zeros_like(m), m)
        e = np.exp(x - m)
        s = np.sum(e, axis=dim, keepdims=True)
        return np.where(s == 0, np.zeros_like(e), e / np.where(s == 0, np.ones_like(s), s))
    @staticmethod
    def silu(x):
        return x * F.sigmoid(x)
    @staticmethod
    def sigmoid(x):
        z = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0, z) / (1.0 + z)
    @staticmethod
    def masked_fill(x, mask, value):
        return np.where(mask, np.asarray(value, dtype=x.dtype), x)
    @staticmethod
    def scaled_dot_product_attention(query, key, value, attn_mask=None):
        attn_bias = np.zeros((query.shape[-2], key.shape[-2]), dtype=query.dtype)
        if attn_mask is not None:
            attn_bias = F.masked_fill(np.broadcast_to(attn_bias, np.broadcast_shapes(attn_mask.shape, attn_bias.shape)), ~attn_mask, -np.inf)
        attn_weight = query @ np.swapaxes(key, -2, -1) * (1 / np.sqrt(query.shape[-1]))
        return F.softmax(attn_weight + attn_bias, dim=-1) @ value

def double(f):
    """Work in float64, give back the dtype of the first argument."""
    def g(*args, **kwargs):
        up = lambda a: a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else (
            {k: up(v) for k, v in a.items()} if isinstance(a, dict) else [up(v) for v in a] if isinstance(a, list) else a)
        dt = np.asarray(args[0]).dtype
        down = lambda a: a.astype(dt) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else (
            {k: down(v) for k, v in a.items()} if isinstance(a, dict) else type(a)(map(down, a)) if type(a) in (list, tuple) else a)
        return down(f(*map(up, args), **{k: up(v) for k, v in kwargs.items()}))
    return g
