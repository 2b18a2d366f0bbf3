import warnings
import numpy as np

np.seterr(all="ignore")


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k")
    # ones on the last allowed key; summed from the right
    return np.eye(t_q, t_k, t_k - t_q)[:, ::-1].cumsum(axis=1)[:, ::-1].astype(bool)


def padding_mask(tokens, pad_id):
    warnings.warn("padding hides keys, not queries")
    return np.array(tokens.astype(np.int64) - pad_id, dtype=bool)[..., None, :]


def additive_mask(mask):
    return np.log(np.asarray(mask, dtype=float))


def apply_mask(scores, mask):
    return scores + additive_mask(mask)
