from __future__ import annotations

from typing import Mapping

import numpy as np

from exercises.step05_output import masked_self_attention
from exercises.types_ import Bools, Floats, Ints


def shift_tokens(tokens: Ints) -> tuple[Ints, Ints]:
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits: Floats) -> Floats:
    shifted: Floats = logits - np.max(logits, axis=-1, keepdims=True)
    normaliser: Floats = np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return shifted - normaliser


def _gather(values: Floats, ids: Ints) -> Floats:
    return np.take_along_axis(values, ids[..., None], axis=-1)[..., 0]


def cross_entropy(logits: Floats, targets: Ints, ignore_id: int | None = None) -> float:
    counted: Bools = np.ones_like(targets, dtype=np.bool_) if ignore_id is None else np.not_equal(targets, ignore_id)
    n: int = int(np.count_nonzero(counted))
    if n == 0:
        raise ValueError("targets: every one is ignored")
    safe: Ints = np.where(counted, targets, 0)
    nll: Floats = -_gather(log_softmax(logits), safe)
    return float(np.sum(nll, where=counted) / n)


def sequence_log_prob(logits: Floats, targets: Ints) -> Floats:
    return np.sum(_gather(log_softmax(logits), targets), axis=-1)


def next_token_logits(tokens: Ints, params: Mapping[str, Floats]) -> Floats:
    length: int = tokens.shape[-1]
    t_max: int = params["position"].shape[0]
    if length > t_max:
        raise ValueError(f"tokens: {length} > T_max={t_max}")
    x: Floats = params["embedding"][tokens] + params["position"][:length]
    y: Floats = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return y @ params["w_out"]


def teacher_forced_loss(tokens: Ints, params: Mapping[str, Floats]) -> float:
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
