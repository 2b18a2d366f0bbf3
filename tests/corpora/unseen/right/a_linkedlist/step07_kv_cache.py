import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class Node:
    __slots__ = ("keys", "values", "older")

    def __init__(self, keys, values, older):
        self.keys, self.values, self.older = keys, values, older

    def __iter__(self):
        node = self
        while node is not None:
            yield node
            node = node.older


class Chain:
    """immutable from outside: push gives a new chain"""

    def __init__(self, head=None):
        self.head = head

    def push(self, keys, values):
        return Chain(Node(keys, values, self.head))

    def oldest_first(self):
        return list(self.head or ())[::-1]

    @property
    def keys(self):
        return np.concatenate([n.keys for n in self.oldest_first()], axis=-2)

    @property
    def values(self):
        return np.concatenate([n.values for n in self.oldest_first()], axis=-2)

    def __len__(self):
        return sum(n.keys.shape[-2] for n in self.oldest_first())


def new_cache():
    return Chain()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache = cache.push(k, v)
    return attention(q, cache.keys, cache.values, causal_mask(q.shape[-2], len(cache))), cache
