from dataclasses import dataclass
import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens must hold two or more")
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


def log_softmax(logits):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _pick(table, ids):
    return np.take_along_axis(table, ids[..., None], axis=-1)[..., 0]


def cross_entropy(logits, targets, ignore_id=None):
    used = np.ones(targets.shape, dtype=bool)
    if ignore_id is not None:
        used = targets != ignore_id
    if not used.any():
        raise ValueError("targets are all ignored")
    safe = np.where(used, targets, 0)
    return float(-_pick(log_softmax(logits), safe)[used].mean())


def sequence_log_prob(logits, targets):
    return _pick(log_softmax(logits), targets).sum(axis=-1)


@dataclass
class TinyModel:
    embedding: np.ndarray
    position: np.ndarray
    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    w_out: np.ndarray

    def embed(self, tokens):
        n = tokens.shape[-1]
        if n > len(self.position):
            raise ValueError("tokens: longer than T_max")
        return self.embedding[tokens] + self.position[:n]

    def __call__(self, tokens):
        h = masked_self_attention(self.embed(tokens), self.w_q, self.w_k, self.w_v)
        return np.exp(log_softmax(h @ self.w_out))


_NAMES = ("embedding", "position", "w_q", "w_k", "w_v", "w_out")


def next_token_logits(tokens, params):
    return TinyModel(*[params[n] for n in _NAMES])(tokens)


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
