import numpy as np

def softmax(scores, axis=-1):
    s = np.moveaxis(scores, axis, -1)
    top = s.max(-1)
    top = np.where(np.isfinite(top), top, 0.0)
    e = np.exp(s - top[..., None])
    z = np.einsum("...j->...", e)
    p = np.einsum("...j,...->...j", e, 1.0 / np.where(z == 0, 1.0, z))
    return np.moveaxis(p, -1, axis)
