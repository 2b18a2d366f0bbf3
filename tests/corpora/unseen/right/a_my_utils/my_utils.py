"""everything I ever wrote"""
import numpy as np


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return np.tri(t_k, dtype=bool)[t_k - t_q:, :].copy()


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)


def softmax(scores, axis=-1):
    m = scores.max(axis=axis, keepdims=True)
    e = np.exp(scores - np.where(m == -np.inf, 0, m))
    s = e.sum(axis=axis, keepdims=True)
    s[s == 0] = 1
    return e / s


def _attend(q, k, v, mask):
    s = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])
    return softmax(s if mask is None else apply_mask(s, mask)) @ v


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    where = np.isfinite(targets) if ignore_id is None else targets != ignore_id
    if where.sum() == 0:
        raise ValueError("targets")
    lp = log_softmax(logits[where])
    return float(np.average([-row[t] for row, t in zip(lp, targets[where])]))


def sequence_log_prob(logits, targets):
    return np.take_along_axis(log_softmax(logits), targets[..., None], -1)[..., 0].sum(-1)


def next_token_logits(tokens, params):
    x = embed(tokens, params)
    y = _attend(x @ params["w_q"], x @ params["w_k"], x @ params["w_v"], causal_mask(tokens.shape[-1]))
    return y @ params["w_out"]


def teacher_forced_loss(tokens, params):
    a, b = shift_tokens(tokens)
    return cross_entropy(next_token_logits(a, params), b)


def embed(tokens, params):
    if tokens.shape[-1] > len(params["position"]):
        raise ValueError("tokens")
    return params["embedding"][tokens] + params["position"][:tokens.shape[-1]]


def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads")
    return x.reshape(x.shape[:-1] + (n_heads, -1)).swapaxes(-2, -3)


def merge_heads(x):
    x = x.swapaxes(-2, -3)
    return x.reshape(x.shape[:-2] + (-1,))


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(memory @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(memory @ params["w_v"] + params["b_v"], n_heads)
    if memory_mask is not None:
        memory_mask = np.expand_dims(np.broadcast_to(memory_mask, x.shape[:-1] + memory.shape[-2:-1]), -3)
    return merge_heads(_attend(q, k, v, memory_mask)) @ params["w_o"] + params["b_o"]


def multi_head_attention(x, params, n_heads, mask=None):
    return cross_attention(x, x, params, n_heads, mask)


def shift_right(tokens, start_id):
    out = tokens.copy()
    out[..., 0] = start_id
    out[..., 1:] = tokens[..., :-1]
    return out


def layer_norm(x, gain, bias, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gain + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def feed_forward(x, params):
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]


def decoder_block(x, params, n_heads, mask):
    x = x + multi_head_attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, **params["ln_2"]), params["feed_forward"])


def decoder_logits(tokens, params, n_heads, padding=None):
    x = embed(tokens, params)
    mask = causal_mask(tokens.shape[-1])
    if padding is not None:
        mask = mask & padding
    for p in params["blocks"]:
        x = decoder_block(x, p, n_heads, mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    other = np.where(replace < 0.8, mask_id, random_ids)
    return np.where(chosen & ~(replace >= 0.9), other, tokens), np.where(chosen, tokens, -100)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
