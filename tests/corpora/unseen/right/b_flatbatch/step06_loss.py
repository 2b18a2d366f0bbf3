import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    flat = tokens.reshape(-1, tokens.shape[-1])
    shape = tokens.shape[:-1] + (tokens.shape[-1] - 1,)
    return flat[:, :-1].reshape(shape), flat[:, 1:].reshape(shape)


def log_softmax(logits):
    flat = logits.reshape(-1, logits.shape[-1])
    z = flat - flat.max(axis=1)[:, None]
    return (z - np.log(np.exp(z).sum(axis=1))[:, None]).reshape(logits.shape)


def cross_entropy(logits, targets, ignore_id=None):
    flat = logits.reshape(-1, logits.shape[-1])
    y = targets.reshape(-1)
    if ignore_id is not None:
        flat, y = flat[y != ignore_id], y[y != ignore_id]
    if not len(y):
        raise ValueError("targets")
    return float(-log_softmax(flat)[np.arange(len(y)), y].mean())


def sequence_log_prob(logits, targets):
    lp = log_softmax(logits.reshape(-1, logits.shape[-1]))
    y = targets.reshape(-1)
    return lp[np.arange(y.size), y].reshape(targets.shape).sum(axis=-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    flat = tokens.reshape(-1, T)
    x = params["embedding"][flat] + params["position"][None, :T]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]
    return y.reshape(tokens.shape + (y.shape[-1],))


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
