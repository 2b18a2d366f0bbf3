import numpy as np
def attention_scores(q, k)
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
