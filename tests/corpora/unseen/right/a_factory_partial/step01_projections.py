from functools import partial
import operator


def make_linear(multiply, add):
    def linear(x, weight, bias=None):
        product = multiply(x, weight)
        return product if bias is None else add(product, bias)
    return linear


linear = make_linear(operator.matmul, operator.add)


def _map(f, x, *weights):
    return tuple(map(partial(f, x), weights))


def project_qkv(x, w_q, w_k, w_v):
    return _map(linear, x, w_q, w_k, w_v)
