import numpy as np

from exercises.step05_output import attention


class Linear:
    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return x @ self.weight + self.bias


def split_heads(x, n_heads):
    *B, T, C = x.shape
    if C % n_heads != 0:
        raise ValueError(f"n_heads={n_heads} does not divide {C}")
    return x.reshape(*B, T, n_heads, C // n_heads).swapaxes(-3, -2)


def merge_heads(x):
    *B, nh, T, hs = x.shape
    return np.ascontiguousarray(x.swapaxes(-3, -2)).reshape(*B, T, nh * hs)


class MultiHeadAttention:
    def __init__(self, params, n_heads):
        self.proj = {c: Linear(params["w_" + c], params["b_" + c]) for c in "qkvo"}
        self.n_heads = n_heads

    def forward(self, x, mask=None):
        q, k, v = (split_heads(self.proj[c](x), self.n_heads) for c in "qkv")
        if mask is not None:
            T = x.shape[-2]
            mask = np.broadcast_to(mask, (*x.shape[:-2], T, T))[..., None, :, :]
        return self.proj["o"](merge_heads(attention(q, k, v, mask)))


def multi_head_attention(x, params, n_heads, mask=None):
    return MultiHeadAttention(params, n_heads).forward(x, mask)
