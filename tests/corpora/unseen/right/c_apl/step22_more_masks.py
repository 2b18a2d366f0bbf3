from numpy import *
def sliding_window_mask(t_q, window, t_k=None):
    t_k = t_q if t_k is None else t_k
    if window < 1 or t_k < t_q: raise ValueError
    return tri(t_q, t_k, t_k - t_q, bool) ^ tri(t_q, t_k, t_k - t_q - window, bool)
def prefix_mask(t, n_prefix):
    if not 0 <= n_prefix <= t: raise ValueError
    return tri(t, dtype=bool) | (arange(t) < n_prefix)
ids = lambda d: cumsum(diff(d, prepend=d[..., :1]) != 0, -1)
document_mask = lambda documents: equal(ids(documents)[..., None], ids(documents)[..., None, :]) & tri(documents.shape[-1], dtype=bool)
document_positions = lambda documents: document_mask(documents).sum(-1) - 1
