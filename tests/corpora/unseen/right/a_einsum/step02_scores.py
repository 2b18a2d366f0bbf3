from numpy import einsum, sqrt


def attention_scores(q, k):
    return einsum("...id,...jd->...ij", q, k) / sqrt(q.shape[-1])
