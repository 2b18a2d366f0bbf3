from functools import cache
import numpy as np

def frozen(array):
    array.flags.writeable = False
    return array

@cache
def _window(t_q, window, t_k):
    padded = np.zeros(t_q + t_k + 1, dtype=bool)
    # row i of the mask is the stretch of `padded` that begins at t_q - 1 - i
    last = t_k - 1
    padded[max(0, last - window + 1):last + 1] = True
    rows = np.lib.stride_tricks.sliding_window_view(padded, t_k)[:t_q][::-1]
    return rows

def sliding_window_mask(t_q, window, t_k=None):
    t_k = t_q if t_k is None else t_k
    if window < 1 or t_k < t_q:
        raise ValueError("window, t_k")
    return _window(t_q, window, t_k)

@cache
def prefix_mask(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    mask = np.ones((t, t), dtype=bool)
    for row in range(t):
        mask[row, max(row + 1, n_prefix):] = False
    return frozen(mask)

def starts(documents):
    """The index at which each position's document begins."""
    documents = np.asarray(documents)
    t = documents.shape[-1]
    out = np.zeros(documents.shape, dtype=np.int64)
    for i in range(1, t):
        out[..., i] = np.where(documents[..., i] == documents[..., i - 1], out[..., i - 1], i)
    return out

def document_mask(documents):
    begin = starts(documents)[..., :, None]
    key = np.arange(begin.shape[-2])
    return (begin <= key) & (key <= key[:, None])

def document_positions(documents):
    return np.arange(np.shape(documents)[-1]) - starts(documents)
