import numpy as np
import numpy.ma as ma
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - np.max(logits, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def _nll(logits, targets):
    """targets a masked array"""
    lp = log_softmax(logits)
    picked = np.take_along_axis(lp, targets.filled(0)[..., None], axis=-1)[..., 0]
    return ma.array(-picked, mask=ma.getmaskarray(targets))


def cross_entropy(logits, targets, ignore_id=None):
    t = ma.array(targets, copy=True)
    if ignore_id is not None:
        t = ma.array(targets, mask=targets == ignore_id, copy=True)
    if t.count() == 0:
        raise ValueError("targets")
    return float(_nll(logits, t).mean())


def sequence_log_prob(logits, targets):
    return -np.asarray(_nll(logits, ma.array(targets)).filled(0).sum(axis=-1))


def next_token_logits(tokens, params):
    t = tokens.shape[-1]
    if t > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:t]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
