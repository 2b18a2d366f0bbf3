from dataclasses import dataclass
from typing import Optional
import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


@dataclass(frozen=True)
class Sampler:
    temperature: float
    top_k: Optional[int]

    def __post_init__(self):
        if self.temperature < 0:
            raise ValueError("temperature must not be negative")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError("top_k must be at least 1")

    def one(self, logits, u):
        if self.temperature == 0:
            return int(np.argmax(logits))
        kept = np.sort(np.argsort(-logits, kind="stable")[:self.top_k])
        e = np.exp((logits[kept] - logits.max()) / self.temperature)
        cumulative = np.cumsum(e / e.sum())
        place = np.searchsorted(cumulative, u, side="right")
        return int(kept[min(place, len(kept) - 1)])

    def __call__(self, logits, u):
        ids = np.empty(logits.shape[:-1], dtype=np.int64)
        for where in np.ndindex(*ids.shape):
            ids[where] = self.one(logits[where], None if u is None else float(np.asarray(u)[where]))
        return ids


def sample_token(logits, u, temperature=1.0, top_k=None):
    return Sampler(temperature, top_k)(np.asarray(logits, dtype=np.float64), u)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    length = prompt.shape[-1]
    if length + n_new > len(params["position"]):
        raise ValueError("n_new: does not fit in T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is missing")
    text = np.empty(prompt.shape[:-1] + (length + n_new,), dtype=np.int64)
    text[..., :length] = prompt
    cache, done = new_cache(), 0
    for n in range(length, length + n_new):
        x = params["embedding"][text[..., done:n]] + params["position"][done:n]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        done = n
        text[..., n] = sample_token(y[..., -1, :] @ params["w_out"],
                                    None if u is None else np.asarray(u).reshape((-1,) + prompt.shape[:-1])[n - length], temperature, top_k)
    return text
