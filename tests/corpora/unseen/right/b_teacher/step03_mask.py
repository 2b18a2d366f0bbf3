import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError(f"t_k ({t_k}) must be at least t_q ({t_q})")
    position_of_query = np.arange(t_q).reshape(t_q, 1) + (t_k - t_q)
    position_of_key = np.arange(t_k).reshape(1, t_k)
    allowed = position_of_key <= position_of_query
    assert allowed.shape == (t_q, t_k) and allowed.dtype == np.bool_
    return allowed


def padding_mask(tokens, pad_id):
    is_real = np.not_equal(tokens, pad_id)
    with_query_axis = is_real.reshape(is_real.shape[:-1] + (1, is_real.shape[-1]))
    assert with_query_axis.dtype == np.bool_
    return with_query_axis


def additive_mask(mask):
    assert mask.dtype == np.bool_, "True = may attend"
    result = np.zeros(mask.shape, dtype=np.float64)
    result[np.logical_not(mask)] = -np.inf
    return result


def apply_mask(scores, mask):
    full_mask = np.broadcast_to(mask, scores.shape)
    hidden = np.logical_not(full_mask)
    result = np.array(scores)  # a copy: arguments are never modified
    result[hidden] = -np.inf
    return result
