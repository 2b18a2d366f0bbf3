from numpy import einsum

def attention_scores(q, k):
    return einsum("...qd,...kd->...kq", q, k) * q.shape[-1] ** -0.5
