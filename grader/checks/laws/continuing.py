"""Treat a function that writes text as a function of the random numbers that it draws with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import as_array
from grader.checks.laws.cases import Expect
from grader.checks.student import StudentFunction
from grader.steps.inputs import Arguments


@dataclass(frozen=True)
class Continuing:
    """A function asked for one new token for each number in u; the result is only these tokens.

    So u and the result have the same time axis, and the laws of time can be applied. The law's
    numbers for u are brought into [0, 1).
    """

    generate: StudentFunction

    @property
    def name(self) -> str:
        """Return the name of the student's function, for messages."""
        return self.generate.name

    def __call__(self, *, prompt: NDArray[Any], u: NDArray[Any], **others: Any) -> Any:
        """Return the new tokens, or the whole result if it does not continue the prompt."""
        return _new_tokens(self.generate(**_asked(prompt, u, others)), prompt, u)

    def right(self, expect: Expect, arguments: Arguments) -> Any:
        """Return the reference's new tokens."""
        prompt, u, others = arguments["prompt"], arguments["u"], {**arguments}
        del others["prompt"], others["u"]
        return _new_tokens(expect(self.name, _asked(prompt, u, others)), prompt, u)


def _asked(prompt: NDArray[Any], u: NDArray[Any], others: Arguments) -> Arguments:
    return {**others, "prompt": prompt, "n_new": u.shape[-1], "u": u % 1}


def _new_tokens(value: Any, prompt: NDArray[Any], u: NDArray[Any]) -> Any:
    t, tokens = prompt.shape[-1], as_array(value)
    if tokens is None or tokens.shape != (*prompt.shape[:-1], t + u.shape[-1]):
        return value
    return tokens[..., t:] if np.array_equal(tokens[..., :t], prompt) else value
