import numpy as np

def attention_scores(q, k):
    # q/d^(1/4) . k/d^(1/4)
    f = float(np.shape(q)[-1]) ** 0.25
    return np.matmul(np.divide(q, f), np.swapaxes(np.divide(k, f), 0, 1))
