"""Write a text token by token, and time each token."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.demos.gpt2.running import OwnDecoder
from grader.report.problem import Problem


@dataclass(frozen=True)
class Choice:
    """The rule that takes the next token from the logits."""

    temperature: float
    top_k: int | None
    seed: int


@dataclass
class Timed:
    """Tokens in order, and the seconds that each took; the first includes reading the prompt."""

    ids: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """Return tokens per second after the first, or None if there is no other."""
        rest = self.seconds[1:]
        return len(rest) / sum(rest) if rest else None

    def note(self, token: int, since: float) -> None:
        """Count one more token."""
        self.ids.append(token)
        self.seconds.append(time.perf_counter() - since)


def check_length(prompt: Sequence[int], n_new: int, t_max: int) -> None:
    """Raise Problem if the model has too few positions for a prompt or a text."""
    if not prompt:
        raise Problem("the prompt is empty: begin a text with --prompt")
    room = t_max - len(prompt)
    if room < 1:
        raise Problem(
            f"the prompt has {len(prompt):,} tokens, and the model reads no more than {t_max:,}, "
            "what it writes included: shorten it"
        )
    if n_new > room:
        raise Problem(
            f"the model reads no more than {t_max:,} tokens, and the prompt has {len(prompt):,} of "
            f"them: ask for --tokens {room} at most"
        )


def write_tokens(
    decoder: OwnDecoder,
    prompt: Sequence[int],
    n_new: int,
    choice: Choice,
    timed: Timed,
    *,
    cache: bool = True,
) -> Iterator[int]:
    """Yield the tokens after the prompt, each as soon as it is known."""
    text, past, read = list(prompt), decoder.new_cache() if cache else None, 0
    for u in np.random.RandomState(choice.seed).random_sample(n_new):
        start = time.perf_counter()
        if past is None:
            logits = decoder.logits(text, last=1)
        else:
            logits, past = decoder.step(text[read:], past, last=1)
        read = len(text)
        token = decoder.sample(logits[-1], float(u), choice.temperature, choice.top_k)
        text.append(token)
        timed.note(token, start)
        yield token
