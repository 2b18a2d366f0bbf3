"""Run the steps' decoder in a worker: params are sent once; caches and logits stay there.

A text is written with it token by token.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import describe
from grader.demos.submission_worker import NotReady, explain_failure
from grader.isolation.client import CallFailed, Program, Worker
from grader.isolation.wire import Handle, Laid
from grader.steps.tree import map_leaves

Floats = NDArray[np.floating[Any]]


class OwnDecoder:
    """Calls the decoder's functions. Raises NotReady if one returns nothing usable."""

    def __init__(
        self,
        worker: Worker,
        program: Program,
        params: Mapping[str, Any],
        sizes: Sequence[float],
        functions: tuple[str, str, str],
    ) -> None:
        """Send the params to a worker that has loaded the program.

        sizes: the arguments after `params`, the number of heads first.
        """
        self.get_logits, self.get_cache, self.get_step = functions
        self.vocabulary, self.n_layers = len(params["embedding"]), len(params["blocks"])
        self.sizes = sizes
        self.done: list[Handle] = []
        """Caches and logits that are not asked for again."""
        self.worker, self.program = worker, program
        # Each array by itself, because no frame holds a whole model.
        hold = worker.hold
        self.params = hold(map_leaves(params, lambda array: hold(Laid(array, writable=False))))

    def logits(self, ids: Sequence[int], last: int | None = None) -> Floats:
        """Return the logits of a sequence, or of its last tokens only: -> (last, V)."""
        args = [np.array(ids, np.int64), self.params, *self.sizes]
        answer = self._call(self.get_logits, args, (True,))
        return self._rows(self.get_logits, answer, len(ids), last or len(ids))

    def new_cache(self) -> Handle:
        """Return an empty cache."""
        return self._handle(self.get_cache, self._call(self.get_cache, [self.n_layers], (True,)))

    def step(
        self, ids: Sequence[int], cache: Handle, last: int | None = None
    ) -> tuple[Floats, Handle]:
        """Return the logits of the last tokens after those in the cache: -> ((last, V), cache)."""
        name = self.get_step
        args = [np.array(ids, np.int64), cache, self.params, *self.sizes]
        answer = self._call(name, args, (True, True))
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise NotReady(f"{name} returned {describe(answer)}, not logits and a cache")
        self.done.append(cache)
        logits = self._rows(name, answer[0], len(ids), last or len(ids))
        return logits, self._handle(name, answer[1])

    def stepwise(self, ids: Sequence[int]) -> Floats:
        """Return the logits of a sequence that is read token by token: -> (T, V)."""
        rows, cache = [], self.new_cache()
        for token in ids:
            logits, cache = self.step([token], cache)
            rows.append(logits)
        return np.concatenate(rows)

    def greedy(self, ids: Sequence[int], n_new: int) -> list[int]:
        """Return the new tokens of a greedy continuation, written through the cache."""
        new, cache, text = list(ids), self.new_cache(), []
        for _ in range(n_new):
            logits, cache = self.step(new, cache, last=1)
            new = [int(logits[-1].argmax())]
            text += new
        return text

    def write(
        self, prompt: Sequence[int], n_new: int, seed: int, *, cached: bool, **options: Any
    ) -> Iterator[tuple[int, float]]:
        """Yield the tokens after the prompt, each as soon as it is known, and its seconds.

        Those of the first include reading the prompt. options: those of `sample_token`.
        """
        text, cache, read = list(prompt), self.new_cache() if cached else None, 0
        for u in np.random.RandomState(seed).random_sample(n_new):
            start = time.perf_counter()
            if cache is None:
                logits = self.logits(text, last=1)
            else:
                logits, cache = self.step(text[read:], cache, last=1)
            read = len(text)
            value = self._call("sample_token", [logits[-1], np.float64(u)], named=options)
            if np.size(value) != 1 or np.asarray(value).dtype.kind not in "iu":
                raise NotReady(f"sample_token returned {describe(value)}, not a token")
            text.append(int(np.ravel(value)[0]))
            yield text[-1], time.perf_counter() - start

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
