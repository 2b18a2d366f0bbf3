from numpy import einsum

def attention_scores(q, k):
    return einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
