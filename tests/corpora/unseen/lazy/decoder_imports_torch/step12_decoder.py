import torch

def decoder_logits(tokens, params, n_heads, padding=None):
    return torch.zeros(1).numpy()
