#!/usr/bin/env python3
# -*- coding: iso-8859-15 -*-
"""Jeder Kopf kostet einen €; Köpfe kommen einer nach dem anderen."""
import contextlib
import itertools

import numpy as np


@contextlib.contextmanager
def _quiet():
    with np.errstate(all="ignore"):
        yield


def repeat_heads(x, n_repeats):
    heads = np.moveaxis(x, -3, 0)
    return np.stack([h for one in heads for h in itertools.repeat(one, n_repeats)], axis=-3)


def _heads(y, n):
    width = y.shape[-1] // n
    yield from (y[..., i:i + width] for i in range(0, n * width, width))


def _turned(heads, angles):
    if angles is None:
        yield from heads
        return
    w = np.exp(1j * np.asarray(angles, dtype=np.float64))
    for h in heads:
        a, b = np.split(h, 2, axis=-1)
        z = (a + 1j * b) * w
        yield np.concatenate([z.real, z.imag], axis=-1)


def _biases(bias):
    if bias is None or np.ndim(bias) < 3:
        yield from itertools.repeat(0.0 if bias is None else bias)
    elif bias.shape[-3] == 1:
        yield from itertools.repeat(bias[..., 0, :, :])
    else:
        yield from np.moveaxis(bias, -3, 0)


def _attended(q, k, v, mask, bias):
    s = np.einsum("...qc,...kc->...qk", q, k) / q.shape[-1] ** 0.5 + bias
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    with _quiet():
        top = s.max(axis=-1, keepdims=True)
        p = np.exp(s - top)                                 # nan where a row is -inf throughout
        p = p / p.sum(axis=-1, keepdims=True)
    return np.where(top == -np.inf, 0.0, p) @ v


def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    group, rest = divmod(n_heads, n_kv_heads)
    if rest:
        raise ValueError("n_heads")
    twice = lambda it: itertools.chain.from_iterable(itertools.repeat(h, group) for h in it)
    q = _turned(_heads(x @ params["w_q"], n_heads), angles)
    k = twice(_turned(_heads(x @ params["w_k"], n_kv_heads), angles))
    v = twice(_heads(x @ params["w_v"], n_kv_heads))
    ys = [_attended(*qkv, mask, b) for *qkv, b in zip(q, k, v, _biases(bias))]
    return np.concatenate(ys, axis=-1) @ params["w_o"]
