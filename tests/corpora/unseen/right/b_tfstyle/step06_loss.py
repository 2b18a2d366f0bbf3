import numpy as np

from exercises.step05_output import masked_self_attention


def reduce_logsumexp(x, axis, keepdims=False):
    m = np.max(x, axis=axis, keepdims=True)
    r = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return r if keepdims else np.squeeze(r, axis=axis)


def sparse_softmax_cross_entropy_with_logits(labels, logits):
    log_probs = log_softmax(logits)
    one_hot = labels[..., None] == np.arange(logits.shape[-1])
    return -np.sum(np.where(one_hot, log_probs, 0.0), axis=-1)


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


def log_softmax(logits):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - reduce_logsumexp(shifted, axis=-1, keepdims=True)


def cross_entropy(logits, targets, ignore_id=None):
    losses = sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    if ignore_id is None:
        return float(np.mean(losses))
    kept = losses[np.not_equal(targets, ignore_id)]  # tf.boolean_mask
    if kept.size == 0:
        raise ValueError("targets: every position is ignored")
    return float(np.mean(kept))


def sequence_log_prob(logits, targets):
    return -np.sum(sparse_softmax_cross_entropy_with_logits(targets, logits), axis=-1)


def next_token_logits(tokens, params):
    length = tokens.shape[-1]
    if length > len(params["position"]):
        raise ValueError("tokens")
    x = np.take(params["embedding"], tokens, axis=0)
    x = x + np.take(params["position"], np.arange(length), axis=0)
    x = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.matmul(x, params["w_out"])


def teacher_forced_loss(tokens, params):
    features, labels = shift_tokens(tokens)
    return cross_entropy(next_token_logits(features, params), labels)
