import numpy as np
import numpy.ma as ma
from exercises.step05_output import masked_self_attention

def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return np.delete(tokens, -1, axis=-1), np.delete(tokens, 0, axis=-1)

def log_softmax(logits):
    top = logits.max(-1, keepdims=True)
    return (logits - top) - np.log(np.sum(np.exp(logits - top), -1, keepdims=True))

def cross_entropy(logits, targets, ignore_id=None):
    ids = ma.array(targets, mask=np.zeros(targets.shape, bool) if ignore_id is None else targets == ignore_id)
    if ids.count() == 0:
        raise ValueError("targets")
    got = np.take_along_axis(log_softmax(logits), ids.filled(0)[..., None], -1)[..., 0]
    return -float(ma.array(got, mask=ma.getmaskarray(ids)).mean())

def sequence_log_prob(logits, targets):
    return np.take_along_axis(log_softmax(logits), targets[..., None], -1).sum((-1, -2))

def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:T]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]

def teacher_forced_loss(tokens, params):
    x, y = shift_tokens(tokens)
    return cross_entropy(next_token_logits(x, params), y)
