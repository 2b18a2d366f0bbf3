from functools import reduce
import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache as W, new_cache as N


def _no(what):
    raise ValueError(what)


_rank = lambda z: np.argsort(-z, -1, kind="stable").argsort(-1)
_kept = lambda z, k: np.ones(z.shape, bool) if k is None else _rank(z) < k
_p = lambda z, t, m: softmax(np.where(m, (z - z.max(-1, keepdims=True)) / t, -np.inf))
_first = lambda over, m: np.where(over.any(-1), over.argmax(-1), m.shape[-1] - 1 - m[..., ::-1].argmax(-1))
_draw = lambda z, u, t, m: _first(_p(z, t, m).cumsum(-1) > np.expand_dims(u, -1), m)
sample_token = lambda logits, u, temperature=1., top_k=None: _no("temperature") if temperature < 0 else _no("top_k") if top_k is not None and top_k < 1 else logits.argmax(-1) if temperature == 0 else _draw(logits, u, temperature, _kept(logits, top_k))
_pair = lambda yc, w, s: (s(yc[0][..., -1, :] @ w), yc[1])
_tick = lambda p, s: lambda st, i: (lambda idc: (np.concatenate([st[0], idc[0][..., None]], -1), idc[0][..., None], idc[1], st[0].shape[-1]))(_pair(W(p["embedding"][st[1]] + p["position"][st[3]:st[0].shape[-1]], st[2], p["w_q"], p["w_k"], p["w_v"]), p["w_out"], lambda z: s(z, i)))
generate = lambda prompt, n_new, params, temperature=0., top_k=None, u=None: _no("n_new") if prompt.shape[-1] + n_new > len(params["position"]) else _no("u") if temperature > 0 and u is None else reduce(_tick(params, lambda z, i: sample_token(z, None if u is None else u[..., i], temperature, top_k)), range(n_new), (prompt, prompt, N(), 0))[0] + 0
