import numpy as np
from exercises.step01_projections import linear
from exercises.step04_softmax import softmax

def new_cache():
    return dict(keys=list(), values=list())      # one (..., d) array per token

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    answers = []
    for t in range(x_new.shape[-2]):
        token = x_new[..., t, :]
        q = linear(token, w_q)
        cache["keys"].append(linear(token, w_k).astype(np.float16))
        cache["values"].append(linear(token, w_v))
        s = np.stack([(q * key).sum(-1) for key in cache["keys"]], -1) / np.sqrt(q.shape[-1])
        p = softmax(s)
        answers.append(sum(p[..., j, None] * value for j, value in enumerate(cache["values"])))
    return np.stack(answers, axis=-2), cache
