import numpy as jnp


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError(f"{t_k=} < {t_q=}")
    rows = jnp.broadcast_to(jnp.arange(t_q)[:, None], (t_q, t_k))
    cols = jnp.broadcast_to(jnp.arange(t_k)[None, :], (t_q, t_k))
    return rows + (t_k - t_q) >= cols


def padding_mask(tokens, pad_id):
    return jnp.expand_dims(tokens != pad_id, axis=-2)


def additive_mask(mask):
    return jnp.where(mask, 0.0, -jnp.inf)


def apply_mask(scores, mask):
    return jnp.where(jnp.broadcast_to(mask, scores.shape), scores, -jnp.inf)
