from typing import Any, NamedTuple
import numpy as np
from exercises import step03_mask, step05_output


class Seen(NamedTuple):
    keys: Any = None
    values: Any = None

    @property
    def n(self):
        return 0 if self.keys is None else self.keys.shape[-2]

    def __add__(self, new):
        if self.keys is None:
            return new
        return Seen(*(np.concatenate(p, axis=-2) for p in zip(self, new)))


def new_cache():
    return Seen()


def attend_to(q, seen):
    return step05_output.attention(q, seen.keys, seen.values, step03_mask.causal_mask(q.shape[-2], seen.n))


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    cache = cache + Seen(x_new @ w_k, x_new @ w_v)
    return attend_to(x_new @ w_q, cache), cache
