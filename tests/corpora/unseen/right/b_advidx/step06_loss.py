import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if np.shape(tokens)[-1] < 2:
        raise ValueError("tokens")
    return np.split(tokens, [tokens.shape[-1] - 1], axis=-1)[0], np.split(tokens, [1], axis=-1)[1]


def log_softmax(logits):
    m = logits.max(axis=-1, keepdims=True)
    e = np.exp(logits - m)
    return logits - m - np.log(e.sum(axis=-1, keepdims=True))


def _lookup(logits, targets):
    lp = log_softmax(logits)
    V = lp.shape[-1]
    flat = np.arange(targets.size) * V + targets.ravel().astype(np.int64)
    return lp.ravel()[flat].reshape(targets.shape)


def cross_entropy(logits, targets, ignore_id=None):
    if ignore_id is None:
        return float(-np.average(_lookup(logits, targets)))
    keep = (targets != ignore_id).astype(float)
    if keep.sum() == 0:
        raise ValueError("targets are all ignored")
    lp = _lookup(logits, np.where(targets == ignore_id, 0, targets))
    return float(-np.where(keep > 0, lp, 0).sum() / keep.sum())


def sequence_log_prob(logits, targets):
    return np.add.reduce(_lookup(logits, targets), axis=-1)


def next_token_logits(tokens, params):
    n = tokens.shape[-1]
    if params["position"].shape[0] < n:
        raise ValueError("tokens")
    x = params["embedding"][tokens, :] + params["position"][range(n), :]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.dot(y, params["w_out"])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
