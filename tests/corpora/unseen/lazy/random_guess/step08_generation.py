import numpy as np
def sample_token(logits, u, temperature=1.0, top_k=None): return np.random.randint(0, logits.shape[-1], logits.shape[:-1])
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    return np.concatenate([prompt, np.random.randint(0, len(params["embedding"]), prompt.shape[:-1] + (n_new,))], -1)
