def attention_scores(q, k): return q @ k.swapaxes(-1, -2) / q.shape[-1] ** .5
