import functools
import operator

import numpy as np


def _check(temperature, top_k):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature or top_k")


def sample_token(logits, u, temperature=1.0, top_k=None):
    _check(temperature, top_k)
    logits = np.asarray(logits, np.float64)
    size = logits.shape[-1]
    if temperature == 0:
        return np.argmax(logits, -1)
    # rank of id j: how many ids come before it (larger logit, or equal and lower id)
    order = np.lexsort((np.broadcast_to(np.arange(size), logits.shape), -logits), axis=-1)
    rank = np.argsort(order, axis=-1)
    keep = rank < (size if top_k is None else top_k)
    p = np.where(keep, np.exp((logits - logits.max(-1, keepdims=True)) / temperature), 0.0)
    total = np.add.accumulate(p / np.add.reduce(p, -1, keepdims=True), -1)
    # the smallest id whose cumulative exceeds u = the number of ids whose cumulative does not
    count = (total <= np.expand_dims(u, -1)).sum(-1)
    last = np.where(keep, np.arange(size), -1).max(-1)
    return np.minimum(count, last)


def _one_step(state, u, params, temperature, top_k):
    """(text, tokens read, cache) → the same, one token further."""
    text, read, cache = state
    x = params["embedding"][text[..., read:]] + params["position"][read:text.shape[-1]]
    pairs = cache + ((x @ params["w_k"], x @ params["w_v"]),)
    q = x[..., -1:, :] @ params["w_q"]
    s = np.concatenate([q @ k.swapaxes(-1, -2) for k, _ in pairs], -1) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    ends = np.cumsum([k.shape[-2] for k, _ in pairs])[:-1]
    y = functools.reduce(operator.add, (a @ v for a, (_, v) in zip(np.split(w, ends, axis=-1), pairs)))
    token = sample_token((y @ params["w_out"])[..., 0, :], u, temperature, top_k)
    return np.concatenate([text, np.asarray(token)[..., None]], -1), text.shape[-1], pairs


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    _check(temperature, top_k)
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    draws = [None] * n_new if u is None else [u[..., i] for i in range(n_new)]
    step = functools.partial(_one_step, params=params, temperature=temperature, top_k=top_k)
    return functools.reduce(step, draws, (np.array(prompt), 0, ()))[0]
