import numpy as np


def causal_mask(t_q, t_k=None):
    match t_k:
        case None:
            return causal_mask(t_q, t_q)
        case n if n < t_q:
            raise ValueError(f"{t_k=} is below {t_q=}")
        case n:
            return ~np.triu(np.ones((t_q, n), bool), k=n - t_q + 1)


def padding_mask(tokens, pad_id):
    match tokens.ndim:
        case 1:
            return (tokens != pad_id)[None]
        case _:
            return np.stack([padding_mask(row, pad_id) for row in tokens])


def additive_mask(mask):
    (out := np.empty(np.shape(mask))).fill(0.0)
    if (hidden := np.logical_not(mask)).any():
        out[hidden] = -np.inf
    return out


def apply_mask(scores, mask):
    return np.where(m, scores, -np.inf) if not (m := np.asarray(mask)).all() else scores.copy()
