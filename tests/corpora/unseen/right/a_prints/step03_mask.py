import sys
import warnings
import numpy as np


def debug(name, **arrays):
    print(name, {k: (a.shape, str(a.dtype)) if isinstance(a, np.ndarray) else a for k, a in arrays.items()}, file=sys.stderr)
    return arrays


def causal_mask(t_q, t_k=None):
    debug("causal_mask", t_q=t_q, t_k=t_k)
    if t_k is None:
        t_k = t_q
    elif t_k < t_q:
        print("oh no:", t_k, "<", t_q)
        raise ValueError("t_k too small")
    mask = np.array([np.arange(t_k) <= last for last in range(t_k - t_q, t_k)])
    print(mask.astype(int))
    return mask


def padding_mask(tokens, pad_id):
    mask = np.invert(np.isin(tokens, [pad_id]))
    print("padding at", np.argwhere(~mask).tolist())
    return mask[..., None, :]


def additive_mask(mask):
    warnings.warn("additive_mask makes infinities", RuntimeWarning)
    out = np.where(mask, 0.0, np.NINF if hasattr(np, "NINF") else -np.inf)
    assert out.shape == np.shape(mask)
    return out


def apply_mask(scores, mask):
    debug("apply_mask", scores=scores, mask=mask)
    out = np.where(mask, scores, -np.inf)
    assert out.shape == scores.shape
    return out
