import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] <= 1:
        raise ValueError("tokens must hold at least two ids per text")
    return np.array(tokens[..., :-1]), np.array(tokens[..., 1:])


def log_softmax(logits):
    top = np.max(logits, axis=-1, keepdims=True)
    return (logits - top) - np.logaddexp.reduce(logits - top, axis=-1, keepdims=True)


def nll(logits, targets):
    top = np.max(logits, axis=-1)
    own = logits[tuple(np.indices(targets.shape)) + (targets,)]
    return np.logaddexp.reduce(logits - top[..., None], axis=-1) - (own - top)


def cross_entropy(logits, targets, ignore_id=None):
    if ignore_id is not None:
        keep = targets != ignore_id
        logits, targets = logits[keep], targets[keep]
    if targets.size == 0:
        raise ValueError("targets")
    return float(np.mean(nll(logits, targets)))


def sequence_log_prob(logits, targets):
    return -np.sum(nll(logits, targets), axis=-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens]
    x = x + params["position"][:T]
    return masked_self_attention(x, w_q=params["w_q"], w_k=params["w_k"], w_v=params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return cross_entropy(next_token_logits(tokens[..., :-1], params), tokens[..., 1:])
