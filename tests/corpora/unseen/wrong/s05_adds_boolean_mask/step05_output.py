from functools import reduce
from operator import and_
import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

def attention_output(weights, v):
    return (np.stack([attention_output(w, x) for w, x in zip(weights, v)])
            if weights.ndim > 2 else weights.dot(v))

compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)

def attention(q, k, v, mask=None):
    masked = (lambda s: s) if mask is None else (lambda s: s + mask)
    return compose(lambda q: attention_scores(q, k), masked, softmax, lambda w: attention_output(w, v))(q)

def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    masks = filter(lambda m: m is not None, [causal_mask(x.shape[-2]), padding])
    return attention(*project_qkv(x, w_q, w_k, w_v), reduce(and_, masks))
