import numpy as np

# Z = sum_s exp(-beta E_s); the energies are minus the scores


def attention_output(weights, v):
    return np.einsum("...qk,...kd->...qd", weights, v)


def attention(q, k, v, mask=None):
    beta = q.shape[-1] ** -0.5
    minus_E = beta * np.einsum("...qd,...kd->...qk", q, k)
    if mask is not None:
        minus_E = np.where(mask, minus_E, -np.inf)
    E0 = minus_E.max(axis=-1, keepdims=True)
    E0 = np.where(np.isfinite(E0), E0, 0.0)
    boltzmann = np.exp(minus_E - E0)
    Z = np.einsum("...qk->...q", boltzmann)
    numerator = np.einsum("...qk,...kd->...qd", boltzmann, v)
    return np.divide(numerator, Z[..., None], out=np.zeros_like(numerator), where=Z[..., None] > 0)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    t = np.arange(x.shape[-2])
    light_cone = t[None, :] <= t[:, None]
    if padding is not None:
        light_cone = light_cone & padding
    q, k, v = (np.einsum("...ti,ij->...tj", x, w) for w in (w_q, w_k, w_v))
    return attention(q, k, v, light_cone)
