import numpy as jnp
from exercises.minijax import softmax_where


def softmax(scores, axis=-1):
    x = jnp.moveaxis(scores, axis, -1)
    p = softmax_where(x, x > -jnp.inf)
    return jnp.moveaxis(p, -1, axis)
