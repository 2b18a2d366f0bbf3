import numpy as np

from exercises.step03_mask import causal_mask


def sliding_window_mask(t_q, window, t_k=None):
    if t_k is None:
        t_k = t_q
    if window < 1:
        raise ValueError("window must be at least 1")
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    i = np.arange(t_q)[:, None] + t_k - t_q
    j = np.arange(t_k)
    return (j <= i) & (i - j < window)


def prefix_mask(t, n_prefix):
    if n_prefix < 0 or n_prefix > t:
        raise ValueError("n_prefix out of range")
    return causal_mask(t) | (np.arange(t) < n_prefix)


def document_mask(documents):
    d = np.asarray(documents)
    T = d.shape[-1]
    return (d[..., :, None] == d[..., None, :]) & np.tri(T, dtype=bool)


def document_positions(documents):
    documents = np.asarray(documents)
    t = np.arange(documents.shape[-1])
    starts = np.zeros(documents.shape, int)
    starts[..., 1:] = np.where(documents[..., 1:] != documents[..., :-1], t[1:], 0)
    return t - np.maximum.accumulate(starts, axis=-1)
