"""Run the steps' decoder in a worker: params are sent once; caches and logits stay there.

A text is written with it token by token.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import describe
from grader.demos.submission_worker import NotReady, explain_failure
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Worker
from grader.isolation.wire import Handle, Laid
from grader.report.problem import Problem
from grader.steps.registry import Limits
from grader.steps.tree import map_leaves

Floats = NDArray[np.floating[Any]]
MIB = 2**20
CALL_SECONDS = 600.0
ALL_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Functions:
    """The names of a family's functions."""

    logits: str
    new_cache: str
    step: str
    sample: str = "sample_token"

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return all of them."""
        return (self.logits, self.new_cache, self.step, self.sample)


def limits_for(limits: Limits, params_bytes: int) -> Limits:
    """Return the limits of a decoder: room for its params, its logits and its caches."""
    return Limits(
        call_seconds=CALL_SECONDS,
        step_seconds=ALL_SECONDS,
        memory_mib=max(limits.memory_mib, 4096 + 3 * params_bytes // MIB),
    )


class OwnDecoder:
    """Calls the decoder's functions. Raises NotReady if one returns nothing usable."""

    def __init__(
        self,
        host: Host,
        program: Program,
        params: Mapping[str, Any],
        sizes: Sequence[float],
        functions: Functions,
    ) -> None:
        """Set up the calls. sizes: the arguments after `params`, the number of heads first."""
        self.functions = functions
        self.vocabulary = len(params["embedding"])
        self.n_layers = len(params["blocks"])
        self.sizes = sizes
        self.done: list[Handle] = []
        """Caches and logits that are not asked for again."""
        self.program = program
        self.worker = Worker(host, float("inf"))
        try:
            self.worker.load(program)
        except CallFailed as failure:
            self.close()
            raise explain_failure(failure, "The import of the steps", program) from None
        # Each array by itself, because no frame holds a whole model.
        hold = self.worker.hold
        self.params = hold(map_leaves(params, lambda array: hold(Laid(array, writable=False))))

    def close(self) -> None:
        """End the worker."""
        self.worker.close()

    def logits(self, ids: Sequence[int], last: int | None = None) -> Floats:
        """Return the logits of a sequence, or of its last tokens only: -> (last, V)."""
        name = self.functions.logits
        answer = self._call(name, [np.array(ids, np.int64), self.params, *self.sizes], (True,))
        return self._rows(name, answer, len(ids), last or len(ids))

    def new_cache(self) -> Handle:
        """Return an empty cache."""
        name = self.functions.new_cache
        return self._handle(name, self._call(name, [self.n_layers], (True,)))

    def step(
        self, ids: Sequence[int], cache: Handle, last: int | None = None
    ) -> tuple[Floats, Handle]:
        """Return the logits of the last tokens after those in the cache: -> ((last, V), cache)."""
        name = self.functions.step
        args = [np.array(ids, np.int64), cache, self.params, *self.sizes]
        answer = self._call(name, args, (True, True))
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise NotReady(f"{name} returned {describe(answer)}, not logits and a cache")
        self.done.append(cache)
        logits = self._rows(name, answer[0], len(ids), last or len(ids))
        return logits, self._handle(name, answer[1])

    def greedy(self, ids: Sequence[int], n_new: int) -> list[int]:
        """Return the new tokens of a greedy continuation, written through the cache."""
        new, cache, text = list(ids), self.new_cache(), []
        for _ in range(n_new):
            logits, cache = self.step(new, cache, last=1)
            new = [int(logits[-1].argmax())]
            text += new
        return text

    def sample(self, logits: Floats, u: float, temperature: float, top_k: int | None) -> int:
        """Return a token sampled from one row of logits (V,)."""
        named = {"temperature": temperature, "top_k": top_k}
        name = self.functions.sample
        value = self._call(name, [logits, np.float64(u)], named=named)
        if np.size(value) != 1 or np.asarray(value).dtype.kind not in "iu":
            raise NotReady(f"{name} returned {describe(value)}, not a token")
        return int(np.ravel(value)[0])

    def _call(
        self,
        function: str,
        args: Sequence[Any],
        opaque: Sequence[bool] = (False,),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        done, self.done = self.done, []
        try:
            return self.worker.call(function, args, named or {}, opaque=opaque, forget=done).value
        except CallFailed as failure:
            raise explain_failure(failure, function, self.program) from None

    def _handle(self, function: str, value: Any) -> Handle:
        if not isinstance(value, Handle):
            raise NotReady(f"{function} returned {describe(value)}")
        return value

    def _rows(self, function: str, kept: Any, length: int, last: int) -> Floats:
        """Return the last rows of kept logits of that length."""
        try:
            rows = self.worker.fetch(self._handle(function, kept), (length - last, length + 1))
        except CallFailed:
            raise NotReady(f"{function} did not return an array of logits") from None
        is_float = isinstance(rows, np.ndarray) and rows.dtype.kind == "f"
        if not is_float or rows.shape != (last, self.vocabulary):
            raise NotReady(
                f"{function} did not return logits of the shape ({length}, {self.vocabulary}): "
                f"rows {length - last} to {length - 1} are {describe(rows)}"
            )
        self.done.append(kept)
        return np.asarray(rows)


@dataclass(frozen=True)
class Choice:
    """The rule that takes the next token from the logits."""

    temperature: float
    top_k: int | None
    seed: int


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
    *,
    cache: bool = True,
) -> Iterator[tuple[int, float]]:
    """Yield the tokens after the prompt, each as soon as it is known, and its seconds.

    Those of the first include reading the prompt.
    """
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
        yield token, time.perf_counter() - start
