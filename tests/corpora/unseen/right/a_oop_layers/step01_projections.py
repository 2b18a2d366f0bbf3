from exercises.nn import Linear, Module


class _LinearFunction(Module):
    def forward(self, x, weight, bias=None):
        return Linear(weight, bias)(x)


class _Project(Module):
    def forward(self, x, w_q, w_k, w_v):
        return tuple(Linear(w)(x) for w in (w_q, w_k, w_v))


linear = _LinearFunction()
project_qkv = _Project()
