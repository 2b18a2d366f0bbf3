"""A persistent linked list of (key, value, rest), cut to the window."""
import numpy as np
from collections import deque, namedtuple

Node = namedtuple("Node", "key value rest")

def new_window_cache(window):
    if window < 1:
        raise ValueError("window")
    return window, None

def _items(node):
    while node is not None:
        yield node.key, node.value
        node = node.rest

def _rebuild(pairs):
    node = None
    for key, value in reversed(pairs):
        node = Node(key, value, node)
    return node

def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    window, newest = cache
    rows = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t, :]
        recent = [(x @ w_k, x @ w_v), *_items(newest)][:window]
        newest = _rebuild(recent)
        q = x @ w_q / np.sqrt(w_q.shape[-1])
        scores = [np.sum(q * k, axis=-1) for k, _ in recent]
        lse = np.logaddexp.reduce(scores, axis=0)
        rows.append(sum(np.exp(s - lse)[..., None] * v for s, (_, v) in zip(scores, recent)))
    return np.stack(rows, axis=-2), (window, newest)
