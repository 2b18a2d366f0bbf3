import numpy as np
from numpy import einsum
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(einsum("...v->...", np.exp(z)))[..., None]


def _one_hot(targets, v):
    return np.equal.outer(targets, np.arange(v)).astype(float)


def cross_entropy(logits, targets, ignore_id=None):
    counted = np.ones(targets.shape) if ignore_id is None else (targets != ignore_id).astype(float)
    n = counted.sum()
    if n == 0:
        raise ValueError("targets")
    lp = np.where(_one_hot(targets, logits.shape[-1]) > 0, log_softmax(logits), 0.0)
    return float(-einsum("nv,n->", lp.reshape(-1, lp.shape[-1]), counted.ravel()) / n)


def sequence_log_prob(logits, targets):
    return einsum("...tv,...tv->...", log_softmax(logits), _one_hot(targets, logits.shape[-1]))


def next_token_logits(tokens, params):
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:t]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return einsum("...d,dv->...v", y, params["w_out"])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
