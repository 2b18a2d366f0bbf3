import numpy as np


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    # a window that slides over 1 1 1 ... 0 0 0
    ruler = np.concatenate([np.ones(t_k, bool), np.zeros(t_q, bool)])
    windows = np.lib.stride_tricks.sliding_window_view(ruler, t_k)
    return windows[t_q - 1::-1][:t_q].copy() if t_q else np.zeros((0, t_k), bool)


def padding_mask(tokens, pad_id):
    return np.logical_or(tokens < pad_id, tokens > pad_id)[..., None, :]


def additive_mask(mask):
    return -np.array([np.inf, 0.0])[np.asarray(mask, dtype=np.intp)] + 0.0


def apply_mask(scores, mask):
    return np.where(mask, scores, np.full((), -np.inf))
