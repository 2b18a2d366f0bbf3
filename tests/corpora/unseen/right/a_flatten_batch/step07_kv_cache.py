import numpy as np
from exercises.batching import back, flat
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return {}               # sequence number -> (list of key rows, list of value rows)


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    xs = flat(x_new, 2)
    out = []
    for i, x in enumerate(xs):
        keys, values = cache.setdefault(i, ([], []))
        keys.extend(x @ w_k)
        values.extend(x @ w_v)
        out.append(attention(x @ w_q, np.array(keys), np.array(values), causal_mask(len(x), len(keys))))
    return back(np.array(out), x_new.shape[:-2]), cache
