from functools import reduce
import numpy as np
from exercises.step03_mask import causal_mask as C
from exercises.step05_output import attention as A
from exercises.step08_generation import sample_token as U
from exercises.step09_heads import merge_heads as M, split_heads as S
from exercises.step11_block import feed_forward as F, layer_norm as L


def _no(what):
    raise ValueError(what)


new_decoder_cache = lambda n_layers: (0, ((),) * n_layers)
_l = lambda p, w, h, H: S(h @ p["w_" + w] + p["b_" + w], H)
_kv = lambda old, p, h, H: tuple(np.concatenate([*o, _l(p, w, h, H)], -2) for o, w in zip(([a] for a in old) if old else ([], []), "kv"))
_o = lambda y, p: M(y) @ p["w_o"] + p["b_o"]
_att = lambda x, h, p, kv, H: (x + _o(A(_l(p, "q", h, H), *kv, C(x.shape[-2], kv[0].shape[-2])), p), kv)
_blk = lambda H: lambda xc, bc: (lambda h: (lambda x, kv: (x + F(L(x, **bc[0]["ln_2"]), bc[0]["feed_forward"]), xc[1] + (kv,)))(*_att(xc[0], h, bc[0]["attention"], _kv(bc[1], bc[0]["attention"], h, H), H)))(L(xc[0], **bc[0]["ln_1"]))
_run = lambda tokens, cache, params, H, t: (lambda x, kvs: (L(x, **params["ln_f"]) @ params["embedding"].T, (t, kvs)))(*reduce(_blk(H), zip(params["blocks"], cache[1]), (params["embedding"][tokens] + params["position"][cache[0]:t], ())))
decoder_step = lambda tokens_new, cache, params, n_heads: _no("tokens_new") if cache[0] + tokens_new.shape[-1] > len(params["position"]) else _run(tokens_new, cache, params, n_heads, cache[0] + tokens_new.shape[-1])
_more = lambda text, zc, s: (np.concatenate([text, s(zc[0][..., -1, :])[..., None]], -1), zc[1])
decoder_generate = lambda prompt, n_new, params, n_heads, temperature=0., top_k=None, u=None: _no("n_new") if prompt.shape[-1] + n_new > len(params["position"]) else _no("u") if temperature > 0 and u is None else reduce(lambda tc, i: _more(tc[0], decoder_step(tc[0][..., tc[1][0]:], tc[1], params, n_heads), lambda z: U(z, None if u is None else u[..., i], temperature, top_k)), range(n_new), (prompt, new_decoder_cache(len(params["blocks"]))))[0] + 0
