import math
import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.ndim > 1:
        pairs = [shift_tokens(t) for t in tokens]
        return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    if len(tokens) < 2:
        raise ValueError("tokens")
    return tokens[:-1], tokens[1:]


def log_softmax(logits):
    if logits.ndim > 1:
        return np.array([log_softmax(z) for z in logits])
    top = logits.max()
    z = np.asarray(logits, float) - top
    return z - math.log(np.exp(z).sum())


def _sum_and_count(logits, targets, ignore_id):
    if targets.ndim == 0:
        if ignore_id is not None and targets == ignore_id:
            return 0.0, 0
        return -float(log_softmax(logits)[targets]), 1
    parts = [_sum_and_count(z, t, ignore_id) for z, t in zip(logits, (targets[i, ...] for i in range(len(targets))))]
    return math.fsum(s for s, _ in parts), sum(n for _, n in parts)


def cross_entropy(logits, targets, ignore_id=None):
    total, n = _sum_and_count(logits, targets, ignore_id)
    if n == 0:
        raise ValueError("targets")
    return total / n


def sequence_log_prob(logits, targets):
    if targets.ndim > 1:
        return np.array([sequence_log_prob(z, t) for z, t in zip(logits, targets)])
    return -_sum_and_count(logits, targets, None)[0]


def next_token_logits(tokens, params):
    if tokens.shape[-1] > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:tokens.shape[-1]]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
