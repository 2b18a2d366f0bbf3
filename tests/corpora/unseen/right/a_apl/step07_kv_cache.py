from numpy import concatenate as cat
from exercises.step03_mask import causal_mask as C
from exercises.step05_output import attention as A

new_cache = lambda: ()
_go = lambda q, kv: (A(q, *kv, C(q.shape[-2], kv[0].shape[-2])), kv)
attend_with_cache = lambda x_new, cache, w_q, w_k, w_v: _go(x_new @ w_q, tuple(cat((*o, n), -2) for o, n in zip(([c] for c in cache) if cache else ([], []), (x_new @ w_k, x_new @ w_v))))
