from abc import ABC, abstractmethod
from dataclasses import dataclass
import numpy as np
from exercises.step05_output import masked_self_attention


class Reduction(ABC):
    @abstractmethod
    def __call__(self, log_p, counted):
        ...


class MeanNll(Reduction):
    def __call__(self, log_p, counted):
        n = counted.sum()
        if n == 0:
            raise ValueError("targets: nothing counts")
        return float(-np.sum(log_p, where=counted) / n)


class SumOverTime(Reduction):
    def __call__(self, log_p, counted):
        return np.sum(log_p, axis=-1, where=counted)


@dataclass(frozen=True)
class Likelihood:
    reduction: Reduction
    ignore_id: int | None = None

    def counted(self, targets):
        return np.full(targets.shape, True) if self.ignore_id is None else ~(targets == self.ignore_id)

    def __call__(self, logits, targets):
        counted = self.counted(targets)
        safe = np.where(counted, targets, 0)
        top = logits.max(axis=-1, keepdims=True)
        picked = np.take_along_axis(logits - top, safe[..., None], axis=-1)[..., 0]
        return self.reduction(picked - np.log(np.exp(logits - top).sum(axis=-1)), counted)


class TokenModel:
    def __init__(self, params):
        self.__dict__.update(params)

    @property
    def t_max(self):
        return len(self.position)

    def __call__(self, tokens):
        if tokens.shape[-1] > self.t_max:
            raise ValueError("tokens")
        x = self.embedding[tokens] + self.position[:tokens.shape[-1]]
        return masked_self_attention(x, self.w_q, self.w_k, self.w_v) @ self.w_out


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    return Likelihood(MeanNll(), ignore_id)(logits, targets)


sequence_log_prob = Likelihood(SumOverTime())


def next_token_logits(tokens, params):
    return TokenModel(params)(tokens)


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return Likelihood(MeanNll())(TokenModel(params)(inputs), targets)
