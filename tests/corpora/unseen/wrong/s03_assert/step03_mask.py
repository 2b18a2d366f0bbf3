import warnings
import numpy as np

def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    assert t_k >= t_q, 't_k < t_q'
    m = np.ones((t_q, t_k), dtype=np.bool_)
    m = np.tril(m, k=t_k - t_q)
    for line in m[:8]:
        print("".join("x" if c else "." for c in line[:60]))
    return m

def padding_mask(tokens, pad_id):
    n = int((tokens == pad_id).sum())
    if n:
        warnings.warn(f"{n} pads found", RuntimeWarning)
    return (tokens != pad_id)[..., None, :]

def additive_mask(mask):
    with np.errstate(divide="warn"):
        return np.log(mask.astype(float))        # log 1 = 0, log 0 = -inf, numpy complains, fine

def apply_mask(scores, mask):
    r = scores + additive_mask(mask)
    print("masked:", np.isneginf(r).sum(), "of", r.size)
    return r
