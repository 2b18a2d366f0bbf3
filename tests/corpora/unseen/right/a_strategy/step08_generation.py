from abc import ABC, abstractmethod
import numpy as np
from exercises.step04_softmax import softmax
from exercises.step06_loss import TokenModel
from exercises.step07_kv_cache import attend_with_cache, new_cache


class Sampler(ABC):
    @abstractmethod
    def __call__(self, logits, u):
        ...

    @staticmethod
    def of(temperature, top_k):
        if temperature < 0:
            raise ValueError("temperature")
        if top_k is not None and top_k < 1:
            raise ValueError("top_k")
        if temperature == 0:
            return Greedy()
        return InverseCdf(temperature, Everything() if top_k is None else TopK(top_k))


class Greedy(Sampler):
    def __call__(self, logits, u=None):
        return logits.argmax(axis=-1)


class Everything:
    def ids(self, logits):
        return np.broadcast_to(np.arange(logits.shape[-1]), logits.shape)


class TopK(Everything):
    def __init__(self, k):
        self.k = k

    def ids(self, logits):
        v = logits.shape[-1]
        if self.k >= v:
            return super().ids(logits)
        # complex numbers sort by real part, then imaginary part
        keys = -logits.astype(float) + 1j * np.arange(v)
        return np.sort(np.argsort(keys, axis=-1)[..., : self.k], axis=-1)


class InverseCdf(Sampler):
    def __init__(self, temperature, kept):
        self.temperature, self.kept = temperature, kept

    def __call__(self, logits, u):
        ids = self.kept.ids(logits)
        z = np.take_along_axis(logits, ids, axis=-1)
        p = softmax((z - z.max(axis=-1, keepdims=True)) / self.temperature)
        rest = np.asarray(u, float)
        place = np.zeros(logits.shape[:-1], int)
        total = np.zeros(logits.shape[:-1])
        for j in range(ids.shape[-1] - 1):          # the last one catches all
            total = total + p[..., j]
            place = place + (total <= rest)
        return np.take_along_axis(ids, place[..., None], axis=-1)[..., 0]


def sample_token(logits, u, temperature=1.0, top_k=None):
    return Sampler.of(temperature, top_k)(logits, u)


class CachedModel(TokenModel):
    def __init__(self, params):
        super().__init__(params)
        self.cache, self.seen = new_cache(), 0

    def __call__(self, tokens):
        stop = self.seen + tokens.shape[-1]
        x = self.embedding[tokens] + self.position[self.seen:stop]
        self.seen = stop
        y, self.cache = attend_with_cache(x, self.cache, self.w_q, self.w_k, self.w_v)
        return y[..., -1, :] @ self.w_out


class Writer:
    def __init__(self, model, sampler):
        self.model, self.sampler = model, sampler

    def write(self, prompt, n_new, u):
        text = [prompt]
        for i in range(n_new):
            ids = self.sampler(self.model(text[-1]), None if u is None else u[..., i])
            text.append(np.asarray(ids)[..., None])
        return np.concatenate(text, axis=-1)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    model = CachedModel(params)
    if prompt.shape[-1] + n_new > model.t_max:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    return Writer(model, Sampler.of(temperature, top_k)).write(prompt, n_new, u)
