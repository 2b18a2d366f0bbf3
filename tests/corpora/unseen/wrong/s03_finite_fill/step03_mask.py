from __future__ import annotations
from typing import Protocol, runtime_checkable
import numpy as np
from numpy.typing import NDArray

Bool = NDArray[np.bool_]
Float = NDArray[np.floating]


@runtime_checkable
class MaskRule(Protocol):
    def allows(self, query: NDArray[np.int_], key: NDArray[np.int_]) -> Bool: ...


class CausalRule:
    def allows(self, query: NDArray[np.int_], key: NDArray[np.int_]) -> Bool:
        return key <= query


def causal_mask(t_q: int, t_k: int | None = None) -> Bool:
    width: int = t_q if t_k is None else t_k
    if width < t_q:
        raise ValueError(f"t_k: {t_k} < {t_q}")
    rule: MaskRule = CausalRule()
    key, query = np.meshgrid(np.arange(width), np.arange(width - t_q, width))
    return rule.allows(query, key)


def padding_mask(tokens: NDArray[np.integer], pad_id: int) -> Bool:
    return np.isin(tokens, [pad_id], invert=True)[..., None, :]


def additive_mask(mask: Bool) -> Float:
    return np.select([mask], [0.0], default=-np.inf)


def apply_mask(scores: Float, mask: Bool) -> Float:
    return np.where(mask, scores, np.finfo(scores.dtype).min)
