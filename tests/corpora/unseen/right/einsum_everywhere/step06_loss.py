import numpy as np
from exercises.step05_output import masked_self_attention

def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]

def log_softmax(logits):
    z = logits - logits.max(-1, keepdims=True)
    return z - np.log(np.einsum("...v->...", np.exp(z)))[..., None]

def _picked(logits, targets):
    V = logits.shape[-1]
    one_hot = (targets[..., None] == np.arange(V)).astype(float)     # outside the vocabulary: all zeros
    return np.einsum("...v,...v->...", log_softmax(logits), one_hot)

def cross_entropy(logits, targets, ignore_id=None):
    counted = np.ones(targets.shape) if ignore_id is None else (targets != ignore_id).astype(float)
    n = counted.sum()
    if n == 0:
        raise ValueError("targets: all ignored")
    return float(-(_picked(logits, targets) * counted).sum() / n)

def sequence_log_prob(logits, targets):
    return np.einsum("...t->...", _picked(logits, targets))

def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens: T > T_max")
    x = params["embedding"][tokens] + params["position"][:T]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.einsum("...td,dv->...tv", y, params["w_out"])

def teacher_forced_loss(tokens, params):
    i, t = shift_tokens(tokens)
    return cross_entropy(next_token_logits(i, params), t)
