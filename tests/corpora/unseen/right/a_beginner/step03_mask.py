import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k is smaller than t_q!")
    rows = []
    for i in range(t_q):
        row = []
        for j in range(t_k):
            if j <= i + (t_k - t_q):
                row.append(True)
            else:
                row.append(False)
        rows.append(row)
    return np.array(rows)


def padding_mask(tokens, pad_id):
    result = np.zeros(tokens.shape[:-1] + (1, tokens.shape[-1]), dtype=bool)
    for index in np.ndindex(*tokens.shape):
        if tokens[index] == pad_id:
            result[index[:-1] + (0, index[-1])] = False
        else:
            result[index[:-1] + (0, index[-1])] = True
    return result


def additive_mask(mask):
    result = np.zeros(mask.shape)
    for index in np.ndindex(*mask.shape):
        if mask[index] == False:
            result[index] = -math_inf
    return result


math_inf = float("inf")


def apply_mask(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    result = np.zeros(scores.shape)
    for index in np.ndindex(*scores.shape[:-1]):
        row = []
        for score, allowed in zip(scores[index].tolist(), mask[index].tolist()):
            if allowed:
                row.append(score)
            else:
                row.append(-math_inf)
        result[index] = row
    return result
