"""Right versions of step 24 in unusual style."""

import collections

import numpy as np

from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask
from grader.answer_key.variants import fair


def checked(window):
    """The window, if it is one."""
    if window < 1:
        raise ValueError(f"window {window}")
    return window


def deques(window):
    """Two deques that drop what is too old by themselves."""
    return collections.deque(maxlen=checked(window)), collections.deque(maxlen=window)


def ring(window):
    """A ring without arrays yet, and the number of tokens so far."""
    return {"window": checked(window), "count": 0, "k": None, "v": None}


def tuple_cache(window):
    """The window and nothing else."""
    return (checked(window), None, None)


class WindowCache:
    """An object with slots."""

    __slots__ = ("keys", "values", "window")

    def __init__(self, window):
        self.window, self.keys, self.values = checked(window), None, None


def closure(window):
    """A function that remembers the last keys and values."""
    checked(window)
    kept = []

    def remember(k, v):
        if kept:
            k, v = (np.concatenate([old, new], axis=-2) for old, new in zip(kept, (k, v)))
        n = k.shape[-2]
        kept[:] = [part[..., max(0, n - window + 1) :, :].copy() for part in (k, v)]
        return k, v, window

    return remember


def generator(window):
    """A generator to which new keys and values are sent."""

    def run():
        k = v = None
        given = yield None
        while True:
            new_k, new_v = given
            k = new_k if k is None else np.concatenate([k, new_k], axis=-2)
            v = new_v if v is None else np.concatenate([v, new_v], axis=-2)
            given = yield k, v, window
            start = max(0, k.shape[-2] - window)
            k, v = np.array(k[..., start:, :]), np.array(v[..., start:, :])

    checked(window)
    cache = run()
    next(cache)
    return cache


def attended(q, k, v, window):
    """Attention under the window's mask."""
    return attention(q, k, v, sliding_window_mask(q.shape[-2], window, k.shape[-2]))


@fair("deques", "attend_with_window_cache", also={"new_window_cache": "deques"})
def window_by_deques(x_new, cache, w_q, w_k, w_v):
    """Token by token; what is in the deques is all that a token sees."""
    keys, values = cache
    rows = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t, :]
        keys.append(x @ w_k)
        values.append(x @ w_v)
        k, v = np.stack(keys, axis=-2), np.stack(values, axis=-2)
        rows.append(attention((x @ w_q)[..., None, :], k, v))
    return np.concatenate(rows, axis=-2), cache


@fair("ring", "attend_with_window_cache", also={"new_window_cache": "ring"})
def window_by_ring(x_new, cache, w_q, w_k, w_v):
    """A ring of `window` rows, written at position modulo window; order does not matter."""
    window = cache["window"]
    rows = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t, :]
        k, v = x @ w_k, x @ w_v
        if cache["k"] is None:
            cache["k"] = np.zeros((*k.shape[:-1], window, k.shape[-1]))
            cache["v"] = np.zeros((*v.shape[:-1], window, v.shape[-1]))
        place = cache["count"] % window
        cache["k"][..., place, :], cache["v"][..., place, :] = k, v
        cache["count"] += 1
        filled = np.arange(window) < cache["count"]
        rows.append(attention((x @ w_q)[..., None, :], cache["k"], cache["v"], filled))
    return np.concatenate(rows, axis=-2), cache


@fair("tuple_views", "attend_with_window_cache", also={"new_window_cache": "tuple_cache"})
def window_by_views(x_new, cache, w_q, w_k, w_v):
    """A tuple; views of what was at hand in the last call."""
    window, k_old, v_old = cache
    k, v = x_new @ w_k, x_new @ w_v
    if k_old is not None:
        k = np.concatenate([k_old, k], axis=-2)
        v = np.concatenate([v_old, v], axis=-2)
    y = attended(x_new @ w_q, k, v, window)
    start = max(k.shape[-2] - window, 0)
    return y, (window, k[..., start:, :], v[..., start:, :])


@fair("object", "attend_with_window_cache", also={"new_window_cache": "WindowCache"})
def window_by_object(x_new, cache, w_q, w_k, w_v):
    """An object that is changed and returned; twice the window is kept."""
    k, v = x_new @ w_k, x_new @ w_v
    if cache.keys is not None:
        k = np.concatenate([cache.keys, k], axis=-2)
        v = np.concatenate([cache.values, v], axis=-2)
    keep = min(k.shape[-2], 2 * cache.window)
    cache.keys, cache.values = (part[..., part.shape[-2] - keep :, :].copy() for part in (k, v))
    return attended(x_new @ w_q, k, v, cache.window), cache


@fair("closure", "attend_with_window_cache", also={"new_window_cache": "closure"})
def window_by_closure(x_new, remember, w_q, w_k, w_v):
    """The cache is a function."""
    k, v, window = remember(x_new @ w_k, x_new @ w_v)
    return attended(x_new @ w_q, k, v, window), remember


@fair("generator", "attend_with_window_cache", also={"new_window_cache": "generator"})
def window_by_generator(x_new, cache, w_q, w_k, w_v):
    """The cache is a generator."""
    k, v, window = cache.send((x_new @ w_k, x_new @ w_v))
    return attended(x_new @ w_q, k, v, window), cache


@fair("python_floats", "attend_with_window_cache", also={"new_window_cache": "tuple_cache"})
def window_in_lists(x_new, cache, w_q, w_k, w_v):
    """Keys and values are kept as nested lists of Python floats."""
    window, k_old, v_old = cache
    k, v = x_new @ w_k, x_new @ w_v
    if k_old is not None:
        k = np.concatenate([np.array(k_old), k], axis=-2)
        v = np.concatenate([np.array(v_old), v], axis=-2)
    y = attended(x_new @ w_q, k, v, window)
    if window == 1:
        return y, (window, None, None)
    start = max(0, k.shape[-2] - window + 1)
    return y, (window, k[..., start:, :].tolist(), v[..., start:, :].tolist())


@fair("longdouble", "attend_with_window_cache", also={"new_window_cache": "tuple_cache"})
def window_longdouble(fresh, cache, to_query, to_key, to_value):
    """Extended precision, keys and values side by side in one array."""
    window, old, _ = cache
    fresh = fresh.astype(np.longdouble)
    both = np.concatenate([fresh @ to_key, fresh @ to_value], axis=-1)
    both = both if old is None else np.concatenate([old, both], axis=-2)
    d_k = to_key.shape[-1]
    y = attended(fresh @ to_query, both[..., :d_k], both[..., d_k:], window)
    return y, (window, both[..., max(0, both.shape[-2] - window) :, :].copy(), None)
