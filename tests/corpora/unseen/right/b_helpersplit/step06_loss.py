import numpy as np

from exercises.maths_helpers import safe_max
from exercises.stats_helpers import gather, log_sum_exp
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    return logits - safe_max(logits, -1) - log_sum_exp(logits)


def cross_entropy(logits, targets, ignore_id=None):
    keep = np.broadcast_to(True, targets.shape) if ignore_id is None else targets != ignore_id
    if not np.any(keep):
        raise ValueError("targets")
    return float(-gather(log_softmax(logits), np.where(keep, targets, 0))[keep].mean())


def sequence_log_prob(logits, targets):
    return gather(log_softmax(logits), targets).sum(axis=-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:T]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
