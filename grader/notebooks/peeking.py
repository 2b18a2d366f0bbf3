"""Train two small models that learn where to look; only one of them may look ahead.

Texts come from a chain: after each token one of two others follows, with probabilities 3/4 and 1/4.
So the next token has an entropy of 0.562 nats, and no honest guess can do better.

A model has three numbers for where to look (the token before, its own, the next) and a matrix that
turns what it sees into logits. Adam trains it, with exact gradients for the matrix and differences
for the three numbers. Attention and loss are the learner's own functions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
V, LENGTH, TEXTS, STEPS, RATE = 8, 13, 48, 160, 0.15
SECONDS = 4.0
LIKELY = 0.75
FLOOR = float(-LIKELY * np.log(LIKELY) - (1 - LIKELY) * np.log(1 - LIKELY))
OFFSETS = (-1, 0, 1)


def texts(random: np.random.RandomState) -> Ints:
    """Return texts of the chain, (TEXTS, LENGTH)."""
    tokens = np.zeros((TEXTS, LENGTH), dtype=np.int64)
    tokens[:, 0] = random.randint(0, V, TEXTS)
    for t in range(1, LENGTH):
        likely = random.random_sample(TEXTS) < LIKELY
        tokens[:, t] = np.where(likely, 3 * tokens[:, t - 1] + 1, 3 * tokens[:, t - 1] + 2) % V
    return tokens


@dataclass
class PeekingModel:
    """where (3,): how strongly it looks at each offset; out (V, V): from what it sees to logits."""

    attention: Callable[..., Any]
    log_softmax: Callable[..., Any]
    cross_entropy: Callable[..., Any]
    mask: Any
    where: Floats = field(default_factory=lambda: np.zeros(3))
    out: Floats = field(default_factory=lambda: np.zeros((V, V)))

    def mix_tokens(self, tokens: Ints, where: Floats, mask: Any) -> Floats:
        """Return a mixture of tokens for each position: what the model sees (TEXTS, T, V)."""
        t = tokens.shape[-1]
        keys = np.eye(t) * np.sqrt(t)
        queries = sum(w * np.eye(t, k=offset) for w, offset in zip(where, OFFSETS, strict=True))
        queries = np.broadcast_to(np.asarray(queries), (len(tokens), t, t))
        return np.asarray(
            self.attention(queries, np.broadcast_to(keys, queries.shape), np.eye(V)[tokens], mask)
        )

    def loss(self, tokens: Ints, where: Floats, mask: Any) -> float:
        """Return the cross entropy of the next tokens."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        return float(self.cross_entropy(self.mix_tokens(inputs, where, mask) @ self.out, targets))

    def gradients(self, tokens: Ints) -> tuple[float, Floats]:
        """Return the loss, and the gradient of all the model's numbers, as one vector."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        seen = self.mix_tokens(inputs, self.where, self.mask)
        logits = seen @ self.out
        errors = (np.exp(self.log_softmax(logits)) - np.eye(V)[targets]) / targets.size
        out = np.einsum("btv,btw->vw", seen, errors)
        loss = float(self.cross_entropy(logits, targets))
        nudge = 1e-4
        moved = [self.loss(tokens, self.where + nudge * one, self.mask) for one in np.eye(3)]
        return loss, np.concatenate([(np.array(moved) - loss) / nudge, out.ravel()])


def train(model: PeekingModel, tokens: Ints, seconds: float = SECONDS) -> list[float]:
    """Return a loss for each step, with fewer steps if the learner's functions are slow."""
    mean = np.zeros(3 + V * V)
    square = np.zeros(3 + V * V)
    losses: list[float] = []
    deadline = time.monotonic() + seconds
    for step in range(1, STEPS + 1):
        loss, gradient = model.gradients(tokens)
        losses.append(loss)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        change = RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        model.where = model.where - change[:3]
        model.out = model.out - change[3:].reshape(V, V)
        if time.monotonic() > deadline:
            break
    return losses
