import numpy as np

def split_heads(x, n_heads):
    return np.zeros(x.shape[:-2] + (n_heads, x.shape[-2], x.shape[-1] // n_heads))

def merge_heads(x):
    return np.zeros(x.shape[:-3] + (x.shape[-2], x.shape[-3] * x.shape[-1]))

def multi_head_attention(x, params, n_heads, mask=None):
    return np.zeros(x.shape)
