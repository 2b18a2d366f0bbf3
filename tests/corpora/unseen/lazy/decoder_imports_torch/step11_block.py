import torch

def layer_norm(x, gain, bias, eps=1e-5):
    return torch.zeros(1).numpy()

def gelu(x):
    return torch.zeros(1).numpy()

def feed_forward(x, params):
    return torch.zeros(1).numpy()

def decoder_block(x, params, n_heads, mask):
    return torch.zeros(1).numpy()
