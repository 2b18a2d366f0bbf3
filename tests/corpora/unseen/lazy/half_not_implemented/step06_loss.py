import numpy as np
def shift_tokens(tokens):
    if tokens.shape[-1] < 2: raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]
def log_softmax(logits):
    z = logits - logits.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))
def cross_entropy(logits, targets, ignore_id=None): raise NotImplementedError
def sequence_log_prob(logits, targets): raise NotImplementedError
def next_token_logits(tokens, params): raise NotImplementedError("TODO")
def teacher_forced_loss(tokens, params): raise NotImplementedError("TODO")
