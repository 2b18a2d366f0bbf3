import numpy as np
from exercises.step05_output import masked_self_attention as M


def _no(what):
    raise ValueError(what)


_at = lambda lp, t: np.take_along_axis(lp, t[..., None], -1)[..., 0]
_mean = lambda a: float(a.mean()) if a.size else _no("targets: all ignored")
_sub = lambda z: z - np.log(np.exp(z).sum(-1, keepdims=True))
shift_tokens = lambda tokens: (tokens[..., :-1], tokens[..., 1:]) if tokens.shape[-1] > 1 else _no("tokens")
log_softmax = lambda logits: _sub(logits - logits.max(-1, keepdims=True))
cross_entropy = lambda logits, targets, ignore_id=None: _mean(-_at(log_softmax(logits), targets).ravel()) if ignore_id is None else _mean(-_at(log_softmax(logits), np.where(targets == ignore_id, 0, targets))[targets != ignore_id])
sequence_log_prob = lambda logits, targets: _at(log_softmax(logits), targets).sum(-1)
next_token_logits = lambda tokens, params: _no("tokens") if tokens.shape[-1] > len(params["position"]) else M(params["embedding"][tokens] + params["position"][:tokens.shape[-1]], *(params["w_" + c] for c in "qkv")) @ params["w_out"]
teacher_forced_loss = lambda tokens, params: (lambda a, b: cross_entropy(next_token_logits(a, params), b))(*shift_tokens(tokens))
