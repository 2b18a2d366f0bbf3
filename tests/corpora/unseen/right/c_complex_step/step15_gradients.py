"""Derivatives by the complex step: f(x + ih).imag / h, exact to rounding, no backward formula at all."""
import numpy as np
H = 1e-100

def complex_step(f, d_out, *arrays):
    """The gradient of sum(d_out * f(*arrays)) with respect to each array."""
    arrays = [np.array(a, dtype=np.complex128) for a in arrays]
    grads = []
    for a in arrays:
        g = np.zeros(a.shape)
        for i in np.ndindex(a.shape):
            a[i] += 1j * H
            g[i] = np.sum(d_out * f(*arrays).imag) / H
            a[i] = a[i].real
        grads.append(g)
    return grads

def linear_backward(d_out, x, weight):
    return tuple(complex_step(lambda x, w, b: x @ w + b, d_out, x, weight, np.zeros(weight.shape[1])))

def softmax_backward(d_weights, weights):
    def f(scores):
        e = weights * np.exp(scores)
        s = e.sum(-1, keepdims=True)
        return e / np.where(s == 0, 1, s)
    return complex_step(f, d_weights, np.zeros(weights.shape))[0]

def cross_entropy_backward(logits, targets, ignore_id=None):
    keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if keep.sum() == 0:
        raise ValueError("ignore_id")
    top = logits.max(-1, keepdims=True)
    t = np.where(keep, targets, 0)[..., None]
    def f(z):
        z = z - top
        return ((np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, t, -1)[..., 0]) * keep).sum() / keep.sum()
    return complex_step(f, 1.0, logits)[0]

def embedding_backward(d_x, tokens, vocabulary):
    ids, where = np.unique(tokens, return_inverse=True)
    table = np.zeros((vocabulary, d_x.shape[-1]))
    table[ids] = (where.reshape(-1) == np.arange(len(ids))[:, None]).astype(float) @ d_x.reshape(-1, d_x.shape[-1])
    return table
