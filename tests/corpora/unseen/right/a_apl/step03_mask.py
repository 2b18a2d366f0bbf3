from numpy import arange as i, inf, where


def _no(e):
    raise e


causal_mask = lambda t_q, t_k=None: causal_mask(t_q, t_q) if t_k is None else _no(ValueError("t_k")) if t_k < t_q else i(t_k) <= i(t_k - t_q, t_k)[:, None]
padding_mask = lambda tokens, pad_id: (tokens != pad_id)[..., None, :]
additive_mask = lambda mask: where(mask, 0., -inf)
apply_mask = lambda scores, mask: where(mask, scores, -inf)
