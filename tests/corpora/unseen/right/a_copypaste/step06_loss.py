import numpy as np
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def softmax2(a):
    mx = np.max(a, axis=-1, keepdims=True)
    mx = np.where(mx == -np.inf, 0.0, mx)
    e = np.exp(a - mx)
    s = e.sum(axis=-1, keepdims=True)
    return e / np.where(s == 0, 1.0, s)
def att(q, k, v, m):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    return softmax2(np.where(m, scores, -np.inf)) @ v
def shift_tokens(tokens):
    if tokens.shape[-1] < 2: raise ValueError("tokens too short")
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()
def log_softmax(logits):
    mx = np.max(logits, axis=-1, keepdims=True)
    return (logits - mx) - np.log(np.exp(logits - mx).sum(axis=-1, keepdims=True))
def cross_entropy(logits, targets, ignore_id=None):
    lp = log_softmax(logits)
    lp = lp.reshape(-1, lp.shape[-1])
    tg = targets.reshape(-1)
    total = 0.0
    count = 0
    for i in range(len(tg)):
        if ignore_id is not None and tg[i] == ignore_id:
            continue
        total -= lp[i, tg[i]]
        count += 1
    if count == 0: raise ValueError("targets: nothing left")
    return float(total / count)
def sequence_log_prob(logits, targets):
    mx = np.max(logits, axis=-1, keepdims=True)
    lp = (logits - mx) - np.log(np.exp(logits - mx).sum(axis=-1, keepdims=True))
    return np.take_along_axis(lp, targets[..., None], axis=-1)[..., 0].sum(axis=-1)
def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]: raise ValueError("tokens too long")
    x = params["embedding"][tokens] + params["position"][:T]
    y = att(x @ params["w_q"], x @ params["w_k"], x @ params["w_v"], causal(T, T))
    return y @ params["w_out"]
def teacher_forced_loss(tokens, params):
    if tokens.shape[-1] < 2: raise ValueError("tokens too short")
    return cross_entropy(next_token_logits(tokens[..., :-1], params), tokens[..., 1:])
