import numpy as np
from exercises.step05_output import masked_self_attention

def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return np.asfortranarray(tokens[..., :-1]), np.asfortranarray(tokens[..., 1:])

def log_softmax(logits):
    z = logits - logits.max(-1, keepdims=True)
    return np.asfortranarray(z - np.log(np.exp(z).sum(-1, keepdims=True)))

def cross_entropy(logits, targets, ignore_id=None):
    w = np.ones(targets.shape) if ignore_id is None else np.asarray(targets != ignore_id, dtype=float)
    if w.sum() == 0:
        raise ValueError("targets")
    ids = np.where(w > 0, targets, 0)
    nll = -np.take_along_axis(log_softmax(logits), ids[..., None], -1)[..., 0]
    return np.array(np.average(nll, weights=w))            # 0-d

def sequence_log_prob(logits, targets):
    return np.asfortranarray(np.take_along_axis(log_softmax(logits), targets[..., None], -1)[..., 0].sum(-1)).reshape(targets.shape[:-1])

def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = np.asfortranarray(params["embedding"][tokens] + params["position"][:T])
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.asfortranarray(y @ params["w_out"])

def teacher_forced_loss(tokens, params):
    i, t = shift_tokens(tokens)
    return np.array(cross_entropy(next_token_logits(i, params), t))
