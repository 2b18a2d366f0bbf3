import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    t = tokens.shape[-1]
    if t < 2:
        raise ValueError("tokens must hold two or more")
    return tokens[..., 0:t - 1], tokens[..., 1:t]


def log_softmax(logits):
    z = logits - np.amax(logits, axis=-1, keepdims=True)
    return z - np.logaddexp.reduce(z, axis=-1, keepdims=True)


def _log_p(logits, targets):
    top = np.amax(logits, axis=-1)
    at = np.take_along_axis(logits, np.expand_dims(targets, -1), axis=-1).squeeze(-1)
    return (at - top) - np.logaddexp.reduce(logits - top[..., None], axis=-1)


def cross_entropy(logits, targets, ignore_id=None):
    if ignore_id is not None:
        keep = np.nonzero(targets != ignore_id)
        logits, targets = logits[keep], targets[keep]
    if targets.size == 0:
        raise ValueError("targets are all ignored")
    return -float(np.mean(_log_p(logits, targets)))


def sequence_log_prob(logits, targets):
    return np.sum(_log_p(logits, targets), axis=-1)


def next_token_logits(tokens, params):
    if tokens.shape[-1] > params["position"].shape[0]:
        raise ValueError("tokens: too long")
    x = np.take(params["embedding"], tokens, axis=0) + params["position"][: tokens.shape[-1]]
    return masked_self_attention(x, *map(params.get, ("w_q", "w_k", "w_v"))) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
