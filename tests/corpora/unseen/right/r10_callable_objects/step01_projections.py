import numpy as np


class Linear:
    __slots__ = ()

    def __call__(self, x, weight, bias=None):
        y = np.tensordot(x, weight, axes=(-1, 0))
        if bias is not None:
            y = np.add(y, bias)
        return y


class ProjectQKV:
    __slots__ = ("via",)

    def __init__(self, via):
        self.via = via

    def __call__(self, x, w_q, w_k, w_v):
        return self.via(x, w_q), self.via(x, w_k), self.via(x, w_v)


linear = Linear()
project_qkv = ProjectQKV(via=linear)
