import torch

def shift_right(tokens, start_id):
    return torch.zeros(1).numpy()

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return torch.zeros(1).numpy()
