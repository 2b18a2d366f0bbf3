from __future__ import annotations

import numpy as np

from exercises.types_ import NEG_INF, Bools, Floats, Ints


def causal_mask(t_q: int, t_k: int | None = None) -> Bools:
    n: int = t_q if t_k is None else t_k
    if n < t_q:
        raise ValueError(f"t_k={n} < t_q={t_q}")
    return np.tril(np.ones((n, n), dtype=np.bool_))[n - t_q:]


def padding_mask(tokens: Ints, pad_id: int) -> Bools:
    return np.asarray(tokens != pad_id, dtype=np.bool_)[..., None, :]


def additive_mask(mask: Bools) -> Floats:
    out: Floats = np.zeros_like(mask, dtype=np.float64)
    out[~mask] = NEG_INF
    return out


def apply_mask(scores: Floats, mask: Bools) -> Floats:
    out: Floats = scores.astype(np.result_type(scores, np.float32), copy=True)
    out[np.broadcast_to(~mask, out.shape)] = NEG_INF
    return out
