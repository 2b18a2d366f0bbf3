import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def remember():
    kept = []

    def extend(k, v):
        kept.append((k, v))
        if len(kept) > 1:
            whole = tuple(np.concatenate(parts, axis=-2) for parts in zip(*kept))
            kept[:] = [whole]
        return kept[0]

    return extend


new_cache = remember


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    k, v = cache(x_new @ w_k, x_new @ w_v)
    return attention(x_new @ w_q, k, v, causal_mask(x_new.shape[-2], k.shape[-2])), cache
