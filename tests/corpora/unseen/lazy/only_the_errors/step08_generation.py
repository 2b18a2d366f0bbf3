import numpy as np
def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or top_k is not None and top_k < 1: raise ValueError("temperature or top_k")
    return np.zeros(logits.shape[:-1], int)
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None or prompt.shape[-1] + n_new > len(params["position"]): raise ValueError("u or n_new")
    return np.concatenate([prompt, np.zeros(prompt.shape[:-1] + (n_new,), int)], -1)
