import numpy as np

from exercises.step03_mask import causal_mask


def sliding_window_mask(t_q, window, t_k=None):
    if t_k is None:
        t_k = t_q
    if window < 1:
        raise ValueError("window must be at least 1")
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    query = np.arange(t_k - t_q, t_k)[:, None]
    key = np.arange(t_k)
    return (key <= query) & (query - key < window)


def prefix_mask(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix must lie in 0 ... t")
    mask = causal_mask(t)
    mask[:, :n_prefix] = True
    return mask


def _runs(documents):
    documents = np.asarray(documents)
    change = np.zeros(documents.shape, dtype=np.int64)
    change[..., 1:] = documents[..., 1:] != documents[..., :-1]
    return np.cumsum(change, axis=-1)


def document_mask(documents):
    runs = _runs(documents)
    same = runs[..., :, None] == runs[..., None, :]
    return same & causal_mask(runs.shape[-1])


def document_positions(documents):
    documents = np.asarray(documents)
    flat = documents.ravel()
    begins = np.flatnonzero(np.r_[True, flat[1:] != flat[:-1]])
    lengths = np.diff(np.r_[begins, flat.size])
    positions = np.arange(flat.size) - np.repeat(begins, lengths)
    return positions.reshape(documents.shape)
