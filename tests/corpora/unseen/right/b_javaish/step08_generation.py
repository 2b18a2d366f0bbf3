import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


class SamplerBuilder:
    def __init__(self):
        self._temperature = 1.0
        self._topK = None

    def withTemperature(self, temperature):
        if temperature < 0:
            raise ValueError("temperature < 0")
        self._temperature = temperature
        return self

    def withTopK(self, topK):
        if topK is not None and topK < 1:
            raise ValueError("top_k < 1")
        self._topK = topK
        return self

    def build(self):
        if self._temperature == 0:
            return GreedySampler()
        return InverseCdfSampler(self._temperature, self._topK)


class GreedySampler:
    def sample(self, logits, u):
        return np.argmax(logits, axis=-1)


class InverseCdfSampler:
    def __init__(self, temperature, topK):
        self.temperature = temperature
        self.topK = topK

    def getKept(self, row):
        order = sorted(range(len(row)), key=lambda i: (-row[i], i))
        return sorted(order if self.topK is None else order[: self.topK])

    def sampleOne(self, row, u):
        kept = self.getKept(row)
        scaled = np.array([row[i] for i in kept], dtype=float)
        p = np.exp((scaled - scaled.max()) / self.temperature)
        p = p / p.sum()
        total = 0.0
        for i, pi in zip(kept, p):
            total += pi
            if total > u:
                return i
        return kept[-1]

    def sample(self, logits, u):
        u = np.asarray(u)
        result = np.zeros(logits.shape[:-1], dtype=np.int64)
        for index in np.ndindex(*logits.shape[:-1]):
            result[index] = self.sampleOne(logits[index], u[index])
        return result


def sample_token(logits, u, temperature=1.0, top_k=None):
    sampler = SamplerBuilder().withTemperature(temperature).withTopK(top_k).build()
    return sampler.sample(logits, u)


class TextGenerator:
    def __init__(self, params):
        self.params = params
        self.cache = new_cache()
        self.length = 0

    def getLogits(self, tokens):
        end = self.length + tokens.shape[-1]
        x = self.params["embedding"][tokens] + self.params["position"][self.length : end]
        y, self.cache = attend_with_cache(x, self.cache, self.params["w_q"], self.params["w_k"], self.params["w_v"])
        self.length = end
        return y[..., -1, :] @ self.params["w_out"]


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    gen = TextGenerator(params)
    pieces = [np.array(prompt)]
    for i in range(n_new):
        ui = None if u is None else u[..., i]
        pieces.append(sample_token(gen.getLogits(pieces[-1]), ui, temperature, top_k)[..., None])
    return np.concatenate(pieces, axis=-1)
