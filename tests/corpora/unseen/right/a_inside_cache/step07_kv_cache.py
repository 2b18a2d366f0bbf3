import numpy as np
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention_output


class Cache:
    def __init__(self):
        self._k_t = None        # (..., d_k, T)
        self._v = None          # (..., T, d_v)
        self._count = 0

    def _push(self, k, v):
        k_t = np.moveaxis(k, -1, -2)
        self._k_t = k_t if self._k_t is None else np.concatenate([self._k_t, k_t], axis=-1)
        self._v = v if self._v is None else np.concatenate([self._v, v], axis=-2)
        self._count = self._v.shape[-2]

    def _look(self, q):
        s = attention_scores(q, self._k_t, transposed=True)
        return attention_output(softmax(apply_mask(s, causal_mask(q.shape[-2], self._count))), self._v)


def new_cache():
    return Cache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    cache._push(x_new @ w_k, x_new @ w_v)
    return cache._look(x_new @ w_q), cache
