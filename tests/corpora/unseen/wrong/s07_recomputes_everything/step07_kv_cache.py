import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

def new_cache():
    return ()

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    x = np.concatenate((cache[0], x_new), axis=-2) if cache else np.array(x_new)
    q = np.einsum("...td,de->...te", x_new, w_q)
    k, v = (np.einsum("...td,de->...te", x, w) for w in (w_k, w_v))
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), (x,)
