import numpy as np


def attention_scores(q, k):
    out = np.abs(np.einsum("...id,...jd->...ij", q, k))
    return out / q.shape[-1] ** 0.5
