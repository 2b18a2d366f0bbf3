from collections import deque
import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step05_output import Running


def new_cache():
    return deque()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    r = Running()
    n = q.shape[-2]
    r.add(q, k, v, np.tri(n, dtype=bool))
    for old_k, old_v in cache:
        r.add(q, old_k, old_v, None)
    cache.append((k, v))
    # not too many little chunks
    if len(cache) > 8:
        last = [cache.pop() for _ in range(8)][::-1]
        cache.append(tuple(np.concatenate(p, axis=-2) for p in zip(*last)))
        if len(cache) > 8:
            cache = deque([tuple(np.concatenate(p, axis=-2) for p in zip(*cache))])
    return r.result(), cache
