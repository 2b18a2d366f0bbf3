import math
import numpy as np


def attention_scores(q, k):
    # (k qT)T
    return np.swapaxes(np.matmul(k, np.swapaxes(q, -1, -2)), -1, -2) / math.sqrt(k.shape[-1])
