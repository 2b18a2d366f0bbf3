import functools
import operator
import numpy as np

class Backward:
    """Instances are the functions."""
    def __init__(self, rule): self.rule = rule
    def __call__(self, *args, **kwargs): return self.rule(*args, **kwargs)

def _linear(d_out, x, weight):
    lead = np.prod(x.shape[:-1], dtype=int)
    X, D = np.resize(x, (lead, x.shape[-1])), np.resize(d_out, (lead, d_out.shape[-1]))
    both = np.vstack([X.T, np.ones(lead)]) @ D           # the bias is the weight of a one
    return d_out @ weight.T, both[:-1], both[-1]

linear_backward = Backward(_linear)

softmax_backward = Backward(lambda d_weights, weights: (d_weights - np.matmul(d_weights[..., None, :], weights[..., :, None])[..., 0]) * weights)

def _cross_entropy(logits, targets, ignore_id=None):
    V = logits.shape[-1]
    rows = np.reshape(logits, (-1, V))
    t = np.reshape(targets, -1)
    (live,) = np.where(np.ones(t.shape) if ignore_id is None else t - ignore_id)
    if live.size == 0: raise ValueError("targets")
    out = np.zeros(rows.shape)
    z = rows[live] - rows[live].max(axis=1)[:, None]
    out[live] = np.exp(z) / np.exp(z).sum(axis=1)[:, None]
    out.ravel()[live * V + t[live]] -= 1.0
    return np.reshape(out / live.size, logits.shape)

cross_entropy_backward = functools.partial(_cross_entropy)

class Table:
    @staticmethod
    def embedding_backward(d_x, tokens, vocabulary):
        out = np.zeros((vocabulary, d_x.shape[-1]))
        for token in set(np.ravel(tokens).tolist()):
            out[token] = d_x[np.asarray(tokens) == token].sum(axis=0)
        return out

embedding_backward = Table.embedding_backward
