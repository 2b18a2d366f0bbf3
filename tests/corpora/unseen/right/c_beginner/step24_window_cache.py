import numpy as np
from exercises.step04_softmax import softmax

def new_window_cache(window):
    if window < 1:
        raise ValueError('window')
    return [window, [], []]

def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    window, keys, values = cache
    ys = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t, :]
        keys.append(np.dot(x, w_k))
        values.append(np.dot(x, w_v))
        if len(keys) > window:
            del keys[0]
            values.pop(0)
        q = np.dot(x, w_q)
        s = np.array([(q * k).sum(-1) for k in keys]) / np.sqrt(q.shape[-1])
        w = softmax(s, axis=0)
        y = 0
        for i in range(len(values)):
            y = y + w[i][..., None] * values[i]
        ys.append(y)
    return np.stack(ys, -2), cache
