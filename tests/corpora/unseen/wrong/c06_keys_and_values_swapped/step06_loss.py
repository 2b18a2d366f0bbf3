import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    tokens = np.asarray(tokens)
    if tokens.shape[-1] < 2:
        raise ValueError("need at least two tokens")
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    # F.cross_entropy(logits.view(-1, V), targets.view(-1), ignore_index=...)
    V = logits.shape[-1]
    logits = np.reshape(logits, (-1, V))
    targets = np.reshape(targets, -1)
    if ignore_id is not None:
        keep = targets != ignore_id
        logits, targets = logits[keep], targets[keep]
    if targets.size == 0:
        raise ValueError("nothing to score")
    lp = log_softmax(logits)
    return float(-lp[np.arange(targets.size), targets].mean())


def sequence_log_prob(logits, targets):
    lp = log_softmax(logits)
    onehot = np.arange(logits.shape[-1]) == np.asarray(targets)[..., None]
    return np.where(onehot, lp, 0.0).sum(axis=(-1, -2))


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("Cannot forward sequence of length %d" % T)
    tok_emb = params["embedding"][tokens]
    pos_emb = params["position"][np.arange(T)]
    x = tok_emb + pos_emb
    x = masked_self_attention(x, params["w_q"], params["w_v"], params["w_k"])
    return x @ params["w_out"]


def teacher_forced_loss(tokens, params):
    idx, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(idx, params), targets)
