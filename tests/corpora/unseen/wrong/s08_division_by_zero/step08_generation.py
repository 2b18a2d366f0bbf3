from __future__ import annotations
from typing import Iterator
import numpy as np
from numpy.typing import NDArray
from exercises.step07_kv_cache import attend_with_cache, new_cache

Float = NDArray[np.floating]
Ints = NDArray[np.integer]


def _check(temperature: float, top_k: int | None) -> None:
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")


def sample_token(logits: Float, u: Float | float | None, temperature: float = 1.0, top_k: int | None = None) -> Ints:
    _check(temperature, top_k)
    temperature = max(temperature, 1e-8)
    u = 0.5 if u is None else u
    V: int = logits.shape[-1]
    kept: Ints = np.sort(np.argsort(-logits, axis=-1, kind="stable")[..., : min(top_k or V, V)], axis=-1)
    z: Float = np.take_along_axis(logits, kept, axis=-1).astype(np.float64)
    p: Float = np.exp((z - z.max(axis=-1, keepdims=True)) / temperature)
    cdf: Float = np.cumsum(p / p.sum(axis=-1, keepdims=True), axis=-1)
    cdf[..., -1] = np.inf                       # rounding: the last kept id always catches
    slot: Ints = np.argmax(cdf > np.expand_dims(u, -1), axis=-1)
    return np.take_along_axis(kept, slot[..., None], axis=-1)[..., 0]


def _stream(prompt: Ints, params: dict, temperature: float, top_k: int | None, u: Float | None) -> Iterator[Ints]:
    cache = new_cache()
    start, chunk = 0, prompt
    draws = iter(np.moveaxis(u, -1, 0)) if u is not None else None
    while True:
        stop = start + chunk.shape[-1]
        x = params["embedding"][chunk] + params["position"][start:stop]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        token = sample_token(y[..., -1, :] @ params["w_out"], next(draws) if draws else None, temperature, top_k)
        yield token
        start, chunk = stop, np.expand_dims(token, -1)


def generate(prompt: Ints, n_new: int, params: dict, temperature: float = 0.0,
             top_k: int | None = None, u: Float | None = None) -> Ints:
    _check(temperature, top_k)
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    new = [t for _, t in zip(range(n_new), _stream(prompt, params, temperature, top_k, u))]
    return np.concatenate([prompt] + [np.expand_dims(t, -1) for t in new], axis=-1)
