"""A static-shape cache as flax has it: (k, v, index), padded; a step returns a new one."""
import numpy as jnp
from exercises.step05_output import attention

CHUNK = 16


def new_cache():
    return None


def _dynamic_update_slice(buffer, new, start):
    t = start + new.shape[-2]
    if t > buffer.shape[-2]:
        grown = (t // CHUNK + 1) * CHUNK
        pad = jnp.zeros(buffer.shape[:-2] + (grown - buffer.shape[-2], buffer.shape[-1]), buffer.dtype)
        buffer = jnp.concatenate([buffer, pad], axis=-2)
    pos = jnp.arange(buffer.shape[-2])
    inside = (pos >= start) & (pos < t)
    index = jnp.clip(pos - start, 0, new.shape[-2] - 1)
    return jnp.where(inside[:, None], jnp.take(new, index, axis=-2), buffer)


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = x_new @ w_q, x_new @ w_k, x_new @ w_v
    if cache is None:
        cache = (k[..., :0, :], v[..., :0, :], 0)
    old_k, old_v, index = cache
    t_new = x_new.shape[-2]
    keys, values = _dynamic_update_slice(old_k, k, index), _dynamic_update_slice(old_v, v, index)
    where = jnp.arange(keys.shape[-2])[None, :] <= (index + jnp.arange(t_new))[:, None]
    return attention(q, keys, values, where), (keys, values, index + t_new)
