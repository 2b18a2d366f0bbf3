import math

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def _lse(row):
    top = max(row)
    return top, math.log(math.fsum(math.exp(x - top) for x in row))


def log_softmax(logits):
    def walk(z):
        if isinstance(z[0], list):
            return [walk(y) for y in z]
        top, rest = _lse(z)
        return [(x - top) - rest for x in z]

    import numpy

    return numpy.array(walk(logits.tolist()))


def _walk_log_p(lg, tg, skip):
    """flat list of log p(target), in order"""
    if isinstance(tg, list):
        return [lp for a, b in zip(lg, tg) for lp in _walk_log_p(a, b, skip)]
    if skip is not None and tg == skip:
        return []
    top, rest = _lse(lg)
    return [(lg[tg] - top) - rest]


def cross_entropy(logits, targets, ignore_id=None):
    lps = _walk_log_p(logits.tolist(), targets.tolist(), ignore_id)
    if not lps:
        raise ValueError("targets: all ignored")
    return -math.fsum(lps) / len(lps)


def sequence_log_prob(logits, targets):
    def walk(lg, tg):
        if isinstance(tg[0], list):
            return [walk(a, b) for a, b in zip(lg, tg)]
        return math.fsum(_walk_log_p(lg, tg, None))

    import numpy

    return numpy.array(walk(logits.tolist(), targets.tolist()))


def next_token_logits(tokens, params):
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens")
    x = params["embedding"][tokens] + params["position"][:t]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
