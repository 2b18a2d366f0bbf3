from __future__ import annotations
from typing import Callable, Protocol
import numpy as np
from numpy.typing import NDArray
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

Float = NDArray[np.floating]
Bool = NDArray[np.bool_]
Stage = Callable[[Float], Float]


class AttentionLike(Protocol):
    def __call__(self, q: Float, k: Float, v: Float, mask: Bool | None = None) -> Float: ...


def attention_output(weights: Float, v: Float) -> Float:
    return np.matmul(weights, v)


def attention(q: Float, k: Float, v: Float, mask: Bool | None = None) -> Float:
    pipeline: list[Stage] = [softmax, lambda w: attention_output(w, v)]
    if mask is not None:
        pipeline.insert(0, lambda s: apply_mask(s, mask))
    state = attention_scores(q, k)
    for stage in pipeline:
        state = stage(state)
    return state


def masked_self_attention(x: Float, w_q: Float, w_k: Float, w_v: Float, padding: Bool | None = None) -> Float:
    run: AttentionLike = attention
    visible: Bool = causal_mask(x.shape[-2])
    if padding is not None:
        visible = visible & padding
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    return run(q, k, v, visible)
