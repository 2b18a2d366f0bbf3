import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    n = tokens.shape[-1] - 1
    if n < 1:
        raise ValueError("tokens")
    inputs = np.empty(tokens.shape[:-1] + (n,), tokens.dtype)
    targets = np.empty_like(inputs)
    inputs[...] = tokens[..., :n]
    targets[...] = tokens[..., 1:]
    return inputs, targets


def log_softmax(logits):
    out = np.array(logits)
    out -= logits.max(axis=-1, keepdims=True)
    out -= np.log(np.exp(out).sum(axis=-1, keepdims=True))
    return out


def _gather(logp, ids):
    out = np.empty(ids.shape, dtype=logp.dtype)
    for i in np.ndindex(*ids.shape):
        out[i] = logp[i][ids[i]]
    return out


def cross_entropy(logits, targets, ignore_id=None):
    logp = log_softmax(logits)
    if ignore_id is None:
        return -_gather(logp, targets).mean()
    keep = targets != ignore_id
    if not np.any(keep):
        raise ValueError("ignore_id leaves nothing")
    return -_gather(logp[keep], targets[keep]).mean()


def sequence_log_prob(logits, targets):
    return _gather(log_softmax(logits), targets).sum()


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("too many tokens")
    x = np.zeros(tokens.shape + params["embedding"].shape[1:], dtype=params["embedding"].dtype)
    x += params["embedding"][tokens]
    x += params["position"][:T]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    logits = next_token_logits(inputs, params)
    return cross_entropy(logits, targets)
