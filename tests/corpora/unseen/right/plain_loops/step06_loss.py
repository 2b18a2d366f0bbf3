import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    tokens = np.asarray(tokens)
    T = tokens.shape[-1]
    if T < 2:
        raise ValueError("tokens: need at least two")
    return np.array(tokens[..., 0:T - 1]), np.array(tokens[..., 1:T])


def _log_softmax_list(row):
    biggest = max(row)
    log_total = math.log(sum(math.exp(a - biggest) for a in row))
    return [(a - biggest) - log_total for a in row]


def log_softmax(logits):
    logits = np.asarray(logits, dtype=float)
    n = math.prod(logits.shape[:-1])
    rows = logits.reshape(n, logits.shape[-1]).tolist()
    return np.array([_log_softmax_list(r) for r in rows], dtype=float).reshape(logits.shape)


def cross_entropy(logits, targets, ignore_id=None):
    logits = np.asarray(logits, dtype=float)
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    total = 0.0
    count = 0
    for row, t in zip(rows, np.asarray(targets).ravel().tolist()):
        if ignore_id is not None and t == ignore_id:
            continue
        total -= _log_softmax_list(row)[t]
        count += 1
    if count == 0:
        raise ValueError("targets: everything is ignored")
    return total / count


def sequence_log_prob(logits, targets):
    lp = log_softmax(logits)
    targets = np.asarray(targets)
    T = targets.shape[-1]
    n = math.prod(targets.shape[:-1])
    sums = []
    for table, ids in zip(lp.reshape(n, T, lp.shape[-1]).tolist(), targets.reshape(n, T).tolist()):
        s = 0.0
        for t in range(T):
            s += table[t][ids[t]]
        sums.append(s)
    return np.array(sums).reshape(targets.shape[:-1])


def next_token_logits(tokens, params):
    tokens = np.asarray(tokens)
    T = tokens.shape[-1]
    position = np.asarray(params["position"], dtype=float)
    if T > len(position):
        raise ValueError("tokens: longer than T_max")
    table = np.asarray(params["embedding"], dtype=float)
    x = []
    for n, token in enumerate(tokens.ravel().tolist()):
        x.append([a + b for a, b in zip(table[token].tolist(), position[n % T].tolist())])
    x = np.array(x, dtype=float).reshape(tokens.shape + (table.shape[1],))
    h = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return linear(h, params["w_out"])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
