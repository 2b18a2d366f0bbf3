attention_scores = lambda q, k: q @ k.swapaxes(-1, -2) * q.shape[-1] ** -.5
