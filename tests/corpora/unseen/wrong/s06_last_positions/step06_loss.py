from __future__ import annotations
from typing import TypedDict
import numpy as np
from numpy.typing import NDArray
from exercises.step05_output import masked_self_attention

Float = NDArray[np.floating]
Ints = NDArray[np.integer]


class Params(TypedDict):
    embedding: Float
    position: Float
    w_q: Float
    w_k: Float
    w_v: Float
    w_out: Float


def shift_tokens(tokens: Ints) -> tuple[Ints, Ints]:
    match tokens.shape:
        case (*_, int(T)) if T >= 2:
            return tokens[..., : T - 1], tokens[..., 1:]
        case _:
            raise ValueError("tokens")


def log_softmax(logits: Float) -> Float:
    shifted: Float = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _log_p(logits: Float, targets: Ints) -> Float:
    return np.take_along_axis(log_softmax(logits), np.expand_dims(targets, -1), axis=-1)[..., 0]


def cross_entropy(logits: Float, targets: Ints, ignore_id: int | None = None) -> float:
    if ignore_id is None:
        return float(-_log_p(logits, targets).mean())
    used: NDArray[np.bool_] = targets != ignore_id
    if not used.any():
        raise ValueError("targets")
    return float(-_log_p(logits[used], targets[used]).mean())


def sequence_log_prob(logits: Float, targets: Ints) -> Float:
    return _log_p(logits, targets).sum(axis=-1)


def next_token_logits(tokens: Ints, params: Params) -> Float:
    T: int = tokens.shape[-1]
    T_max: int = params["position"].shape[0]
    if T > T_max:
        raise ValueError(f"tokens: {T} > {T_max}")
    x: Float = params["embedding"][tokens] + params["position"][-T:]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens: Ints, params: Params) -> float:
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
