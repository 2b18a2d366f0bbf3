import numpy as jnp
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    shifted = logits - jnp.max(logits, axis=-1, keepdims=True)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True))


def _label_logp(logits, targets):
    one_hot = targets[..., None] == jnp.arange(logits.shape[-1])
    return jnp.sum(jnp.where(one_hot, log_softmax(logits), 0.0), axis=-1)


def cross_entropy(logits, targets, ignore_id=None):
    weight = jnp.ones(targets.shape) if ignore_id is None else jnp.where(targets == ignore_id, 0.0, 1.0)
    n = weight.sum()
    if n == 0:
        raise ValueError("targets")
    # an ignored id may be a word: its one-hot counts nothing
    return float(jnp.sum(jnp.where(weight > 0, -_label_logp(logits, targets), 0.0)) / n)


def sequence_log_prob(logits, targets):
    return _label_logp(logits, targets).sum(axis=-1)


def next_token_logits(tokens, params):
    t_max = params["position"].shape[0]
    t = tokens.shape[-1]
    if t > t_max:
        raise ValueError(f"tokens: {t} > {t_max}")
    x = params["embedding"][tokens] + params["position"][jnp.arange(t)]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
