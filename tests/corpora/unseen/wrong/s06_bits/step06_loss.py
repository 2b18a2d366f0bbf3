import math
import numpy as np
from exercises.step05_output import masked_self_attention

def shift_tokens(tokens):
    if not tokens.shape[-1] > 1:
        raise ValueError("tokens has nothing to predict")
    return tokens[..., :-1], tokens[..., 1:]

def log_softmax(logits):
    z = np.asarray(logits, np.float64)
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))

def cross_entropy(logits, targets, ignore_id=None):
    V = logits.shape[-1]
    pairs = [(i, t) for i, t in enumerate(targets.reshape(-1).tolist()) if ignore_id is None or t != ignore_id]
    if not pairs:
        raise ValueError("targets")
    lp = log_softmax(logits).reshape(-1, V)
    return math.fsum(-lp[i, t] for i, t in pairs) / len(pairs) / math.log(2)

def sequence_log_prob(logits, targets):
    if targets.ndim == 1:
        return math.fsum(row[t] for row, t in zip(log_softmax(logits), targets.tolist()))
    return np.array([sequence_log_prob(l, t) for l, t in zip(logits, targets)])

def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][np.arange(T)]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]

def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return float(cross_entropy(next_token_logits(inputs, params), targets))
