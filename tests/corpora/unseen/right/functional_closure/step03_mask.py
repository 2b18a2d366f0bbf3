import numpy as np

def causal_mask(t_q, t_k=None):
    def rows(n, width):
        return [] if n == 0 else rows(n - 1, width - 1) + [width]
    def build(t_k):
        if t_k < t_q:
            raise ValueError("t_k")
        seen = np.arange(t_k - t_q + 1, t_k + 1).reshape(t_q, 1) if t_q > 200 else np.array(rows(t_q, t_k), int).reshape(t_q, 1)
        return np.arange(t_k) < seen
    return build(t_q if t_k is None else t_k)

def padding_mask(tokens, pad_id):
    return ~(tokens == pad_id)[..., None, :]

additive_mask = lambda mask: np.where(mask, 0., -np.inf)
apply_mask = lambda scores, mask: scores + additive_mask(mask)
