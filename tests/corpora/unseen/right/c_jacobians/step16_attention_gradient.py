import collections
import numpy as np
Gradients = collections.namedtuple("Gradients", ["d_q", "d_k", "d_v"])

def attention_backward(d_out, q, k, v, mask=None):
    """All Jacobians, as arrays, contracted in the end."""
    t_q, t_k, d = q.shape[-2], k.shape[-2], q.shape[-1]
    s = np.einsum("...ic,...jc->...ij", q, k) / np.sqrt(d)
    allowed = np.broadcast_to(mask if mask is not None else np.True_, s.shape)
    s = np.where(allowed, s, -np.inf)
    peak = s.max(-1, keepdims=True, initial=np.finfo(s.dtype).min)
    e = np.exp(s - peak)
    w = e / np.where(e.any(-1), e.sum(-1), 1)[..., None]
    w_by_s = np.einsum("...ij,jl->...ijl", w, np.eye(t_k)) - np.einsum("...ij,...il->...ijl", w, w)
    out_by_s = np.einsum("...ijl,...jc->...icl", w_by_s, v)
    d_s = np.einsum("...ic,...icl->...il", d_out, out_by_s) / np.sqrt(d)
    return Gradients(np.einsum("...il,...lc->...ic", d_s, k), np.einsum("...il,...ic->...lc", d_s, q), np.einsum("...ij,...ic->...jc", w, d_out))

def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    t = x.shape[-2]
    mask = np.arange(t)[:, None] >= np.arange(t)[None, :]
    if padding is not None:
        mask = np.logical_and(mask, padding)
    g = attention_backward(d_out, x @ w_q, x @ w_k, x @ w_v, mask)
    d_x = np.zeros_like(x)
    d_w = []
    for d, w in zip(g, [w_q, w_k, w_v]):
        d_x = d_x + np.einsum("...to,io->...ti", d, w)
        d_w.append(np.einsum("ni,no->io", x.reshape(-1, x.shape[-1]), d.reshape(-1, d.shape[-1])))
    return d_x, *d_w
