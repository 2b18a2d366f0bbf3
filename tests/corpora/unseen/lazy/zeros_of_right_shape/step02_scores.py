import numpy as np
def attention_scores(q, k): return np.zeros(q.shape[:-1] + (k.shape[-2],))
