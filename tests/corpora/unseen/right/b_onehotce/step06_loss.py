import numpy as np

from exercises.step05_output import masked_self_attention


def one_hot(targets, V):
    return np.eye(V, dtype=bool)[targets]


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    t = np.moveaxis(tokens, -1, 0)
    return np.moveaxis(t[:-1], 0, -1), np.moveaxis(t[1:], 0, -1)


def log_softmax(logits):
    z = logits - np.max(logits, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    V = logits.shape[-1]
    counted = np.full(targets.shape, True) if ignore_id is None else ~(targets == ignore_id)
    if counted.sum() == 0:
        raise ValueError("targets")
    pick = one_hot(np.where(counted, targets, 0), V) & counted[..., None]
    return float(-np.where(pick, log_softmax(logits), 0.0).sum() / counted.sum())


def sequence_log_prob(logits, targets):
    return np.where(one_hot(targets, logits.shape[-1]), log_softmax(logits), 0.0).sum(axis=(-2, -1))


def next_token_logits(tokens, params):
    T, V = tokens.shape[-1], params["embedding"].shape[0]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = one_hot(tokens, V) @ params["embedding"] + np.eye(T, len(params["position"])) @ params["position"]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
