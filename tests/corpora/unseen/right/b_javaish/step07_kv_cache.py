import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class KeyValueStore:
    def __init__(self):
        self.__keys = None
        self.__values = None

    def getKeys(self):
        return self.__keys

    def getValues(self):
        return self.__values

    def isEmpty(self):
        return self.__keys is None

    def append(self, keys, values):
        if self.isEmpty():
            self.__keys, self.__values = keys.copy(), values.copy()
        else:
            self.__keys = np.concatenate((self.__keys, keys), axis=-2)
            self.__values = np.concatenate((self.__values, values), axis=-2)
        return self

    def size(self):
        return 0 if self.isEmpty() else self.__keys.shape[-2]


class CacheFactory:
    @staticmethod
    def create():
        return KeyValueStore()


def new_cache():
    return CacheFactory.create()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache.append(k, v)
    mask = causal_mask(q.shape[-2], cache.size())
    return attention(q, cache.getKeys(), cache.getValues(), mask), cache
