import logging
import numpy as np
from exercises.step05_output import masked_self_attention
log = logging.getLogger("step06")

def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens: T = %d" % tokens.shape[-1])
    return tokens[..., :-1], tokens[..., 1:]

def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))

def cross_entropy(logits, targets, ignore_id=None):
    lp = log_softmax(logits)
    keep = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    log.warning("averaging over %d of %d", keep.sum(), keep.size)
    if keep.sum() == 0:
        raise ValueError("no targets left")
    losses = -lp[keep][np.arange(keep.sum()), targets[keep]]
    return losses.mean()

def sequence_log_prob(logits, targets):
    lp = log_softmax(logits)
    return np.take_along_axis(lp, targets[..., None], axis=-1).squeeze(-1).mean(-1)

def next_token_logits(tokens, params):
    T, T_max = tokens.shape[-1], params["position"].shape[0]
    if T > T_max:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:T]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return y @ params["w_out"]

def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    loss = cross_entropy(next_token_logits(inputs, params), targets)
    return loss
