import torch

def new_decoder_cache(n_layers):
    return torch.zeros(1).numpy()

def decoder_step(tokens_new, cache, params, n_heads):
    return torch.zeros(1).numpy()

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    return torch.zeros(1).numpy()
