from dataclasses import dataclass, field
import numpy as np


@dataclass
class Mask:
    allowed: np.ndarray

    def additive(self):
        out = np.zeros(self.allowed.shape)
        out[~self.allowed] = -np.inf
        return out

    def on(self, scores):
        result = np.array(scores, copy=True)
        np.copyto(result, -np.inf, where=~np.broadcast_to(self.allowed, result.shape))
        return result


class Causal(Mask):
    def __init__(self, t_q, t_k):
        if t_k < t_q:
            raise ValueError("t_k < t_q")
        super().__init__(np.arange(t_k)[None, :] <= np.arange(t_k - t_q, t_k)[:, None])


def causal_mask(t_q, t_k=None):
    return Causal(t_q, t_q if t_k is None else t_k).allowed


def padding_mask(tokens, pad_id):
    return Mask((tokens != pad_id)[..., np.newaxis, :]).allowed


def additive_mask(mask):
    return Mask(np.asarray(mask, dtype=bool)).additive()


def apply_mask(scores, mask):
    return Mask(np.asarray(mask, dtype=bool)).on(scores)
