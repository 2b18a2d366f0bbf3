import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

def new_cache():
    return ()

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = (np.einsum("...td,de->...te", x_new, w) for w in (w_q, w_k, w_v))
    if cache:
        k = np.concatenate((cache[0], k), axis=min(1, k.ndim - 2))
        v = np.concatenate((cache[1], v), axis=min(1, v.ndim - 2))
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), (k, v)
