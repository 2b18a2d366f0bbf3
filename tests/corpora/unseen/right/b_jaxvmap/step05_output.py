import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import causal_mask
from exercises.step04_softmax import softmax


def vmap(f, core):
    def go(*args):
        return f(*args) if args[0].ndim == core else np.stack([go(*a) for a in zip(*args)])

    return go


def attention_output(weights, v):
    return vmap(np.dot, 2)(weights, v)


def _one(q, k, v, mask):
    s = attention_scores(q, k)
    return softmax(np.where(mask, s, -np.inf)) @ v


def attention(q, k, v, mask=None):
    shape = q.shape[:-1] + (k.shape[-2],)
    mask = np.broadcast_to(True if mask is None else mask, shape)
    return vmap(_one, 2)(q, k, v, mask)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    T = x.shape[-2]
    mask = causal_mask(T) if padding is None else causal_mask(T) & padding
    mask = np.broadcast_to(mask, x.shape[:-1] + (T,))
    return vmap(lambda x, m: _one(x @ w_q, x @ w_k, x @ w_v, m), 2)(x, mask)
