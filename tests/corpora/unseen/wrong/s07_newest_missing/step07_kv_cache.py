from __future__ import annotations
from dataclasses import dataclass
from typing import Optional
import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


@dataclass(frozen=True)
class Node:
    """A chunk of the past, pointing at the chunk before it."""
    k: np.ndarray
    v: np.ndarray
    before: Optional[Node]


@dataclass
class Cache:
    tip: Optional[Node] = None

    def walk(self):
        node = self.tip
        while node is not None:
            yield node
            node = node.before


def new_cache():
    return Cache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    chunks = list(cache.walk())[::-1]
    cache = Cache(Node(k, v, cache.tip))
    if not chunks or k.shape[-2] > 1:
        chunks.append(cache.tip)
    keys = np.concatenate([c.k for c in chunks], axis=-2)
    values = np.concatenate([c.v for c in chunks], axis=-2)
    return attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2]) if keys.shape[-2] >= q.shape[-2] else None), cache
