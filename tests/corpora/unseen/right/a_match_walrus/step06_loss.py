import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    match tokens.shape:
        case (*_, 0 | 1):
            raise ValueError("tokens")
        case _:
            return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    return (z := logits - logits.max(axis=-1, keepdims=True)) - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    match ignore_id:
        case None:
            pairs = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
        case _:
            pairs = logits[keep := targets != ignore_id], targets[keep]
    match pairs:
        case (_, t) if (n := t.size) == 0:
            raise ValueError("targets")
        case (z, t):
            return float(-np.sum(log_softmax(z)[range(n), t]) / n)


def sequence_log_prob(logits, targets):
    match targets.ndim:
        case 1:
            return log_softmax(logits)[np.arange(len(targets)), targets].sum()
        case _:
            return np.array([sequence_log_prob(z, t) for z, t in zip(logits, targets)])


def next_token_logits(tokens, params):
    match params:
        case {"embedding": e, "position": p, "w_q": q, "w_k": k, "w_v": v, "w_out": out}:
            if (t := tokens.shape[-1]) > p.shape[0]:
                raise ValueError("tokens")
            return masked_self_attention(e[tokens] + p[:t], q, k, v) @ out


def teacher_forced_loss(tokens, params):
    match shift_tokens(tokens):
        case (inputs, targets):
            return cross_entropy(next_token_logits(inputs, params), targets)
