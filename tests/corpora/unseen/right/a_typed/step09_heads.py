from __future__ import annotations

from typing import Mapping

import numpy as np

from exercises.step05_output import attention
from exercises.types_ import Attend, Bools, Floats


def split_heads(x: Floats, n_heads: int) -> Floats:
    d_model: int = x.shape[-1]
    if d_model % n_heads != 0:
        raise ValueError(f"{d_model=} not divisible by {n_heads=}")
    shape: tuple[int, ...] = (*x.shape[:-1], n_heads, d_model // n_heads)
    return np.swapaxes(np.reshape(x, shape), -2, -3)


def merge_heads(x: Floats) -> Floats:
    y: Floats = np.swapaxes(x, -2, -3)
    return np.reshape(y, (*y.shape[:-2], y.shape[-2] * y.shape[-1]))


def head_mask(mask: Bools | None, shape: tuple[int, ...]) -> Bools | None:
    return None if mask is None else np.broadcast_to(mask, shape)[..., None, :, :]


def with_heads(x: Floats, params: Mapping[str, Floats], n_heads: int, attend: Attend) -> Floats:
    def project(name: str) -> Floats:
        return split_heads(x @ params["w_" + name] + params["b_" + name], n_heads)

    return merge_heads(attend(project("q"), project("k"), project("v"))) @ params["w_o"] + params["b_o"]


def multi_head_attention(x: Floats, params: Mapping[str, Floats], n_heads: int, mask: Bools | None = None) -> Floats:
    t: int = x.shape[-2]
    full: Bools | None = head_mask(mask, (*x.shape[:-2], t, t))

    def attend(q: Floats, k: Floats, v: Floats) -> Floats:
        return attention(q, k, v, full)

    return with_heads(x, params, n_heads, attend)
