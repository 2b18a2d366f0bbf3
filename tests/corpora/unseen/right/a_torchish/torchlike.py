"""just enough torch to keep my old code running"""
import numpy as np

inf = float("inf")
_buffers = {}


def register_buffer(name, value):
    value.setflags(write=False)
    _buffers[name] = value


def buffer(name):
    return _buffers[name]


def tril(x, diagonal=0):
    return np.tril(x, diagonal)


def ones(*shape, dtype=bool):
    return np.ones(shape, dtype=dtype)


def masked_fill(x, mask, value):
    x = np.array(x, dtype=np.result_type(x, np.float32))
    x, mask = x, np.broadcast_to(mask, x.shape)
    x[mask] = value
    return x


def transpose(x, a, b):
    return np.swapaxes(x, a, b)


def contiguous(x):
    return np.ascontiguousarray(x)


def view(x, *shape):
    return x.reshape(shape)


def size(x, i=None):
    return x.shape if i is None else x.shape[i]


def cat(xs, dim=0):
    return np.concatenate(xs, axis=dim)


def gather(x, dim, index):
    return np.take_along_axis(x, index, axis=dim)


def unsqueeze(x, dim):
    return np.expand_dims(x, dim)


def squeeze(x, dim):
    return np.squeeze(x, axis=dim)


def logsumexp(x, dim, keepdim=False):
    m = np.max(x, axis=dim, keepdims=True)
    out = np.log(np.sum(np.exp(x - m), axis=dim, keepdims=True)) + m
    return out if keepdim else squeeze(out, dim)


def matmul(a, b):
    return np.matmul(a, b)


class F:
    @staticmethod
    def linear(x, weight, bias=None):
        """weight here is (out, in), as in torch"""
        y = matmul(x, transpose(weight, 0, 1))
        return y if bias is None else y + bias

    @staticmethod
    def embedding(ids, table):
        return table[ids]
