import torch

def split_heads(x, n_heads):
    return torch.zeros(1).numpy()

def merge_heads(x):
    return torch.zeros(1).numpy()

def multi_head_attention(x, params, n_heads, mask=None):
    return torch.zeros(1).numpy()
