"""State laws about caches: a sequence in chunks, each with the memory of those before it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import UNSAID, Broken, as_array, matches
from grader.checks.laws.cases import Case, Expect, Function, noting, showing
from grader.checks.laws.leaks import positions_text
from grader.checks.laws.state import Noted, call_unchanged, still
from grader.checks.student import Student, StudentFunction
from grader.checks.tolerances import EXACT
from grader.isolation.wire import Foreign, Laid
from grader.steps.inputs import Arguments
from grader.steps.registry import Function as Registered


@dataclass(frozen=True)
class Piece:
    """The result for one chunk: positions start..stop-1 of the sequence."""

    number: int
    start: int
    stop: int
    value: Any


def _time(array: NDArray[Any]) -> int:
    """Return the time axis of a sequence: last for tokens, before the features for vectors."""
    return -1 if array.dtype.kind in "iu" else -2


def _length(text: Any) -> int:
    array = text.array if isinstance(text, Laid) else text
    return int(array.shape[_time(array)])


def _section(text: Any, start: int, stop: int) -> Any:
    """Return these positions of a sequence, in the sequence's memory layout."""
    if isinstance(text, Laid):
        return replace(text, array=_section(text.array, start, stop))
    return text[..., start:stop] if _time(text) == -1 else text[..., start:stop, :]


def spell_section(name: str, text: Any, start: int, stop: int) -> str:
    """Return the code that cuts these positions out of a sequence, as `x[2:3]`."""
    array = text.array if isinstance(text, Laid) else text
    axis, cut = _time(array), f"{start}:{stop}"
    if array.ndim == -axis:
        return f"{name}[{cut}]"
    return f"{name}[..., {cut}]" if axis == -1 else f"{name}[..., {cut}, :]"


@dataclass(frozen=True)
class Stateful:
    """A function that goes on from what fresh makes: an empty cache, or an optimiser's state.

    like: the reference's function of all that is asked in turn.
    """

    step: StudentFunction
    fresh: Callable[..., Any]
    like: str
    in_turns: ClassVar[str]  # a note on several runs in turns

    @property
    def name(self) -> str:
        """Return the name of the student's function, for messages."""
        return self.step.name

    @property
    def function(self) -> Registered:
        """Return the registry's entry, as a `StudentFunction` has it."""
        return self.step.function

    @property
    def results(self) -> tuple[str, ...]:
        """Return the names of the results besides the state."""
        return tuple(name for name in self.function.returns if not name.startswith("*"))

    def parts(self, whole: Arguments, ask: Function | None = None) -> Iterator[Any]:
        """Make a state at once, and go on from it for each requested part of the result."""
        raise NotImplementedError

    def judge(self, case: Case, part: Any) -> None:
        """Raise Broken unless a part is what the reference returns there."""
        raise NotImplementedError

    def right(self, expect: Expect, arguments: Arguments) -> Any:
        """Return the reference's result for the whole."""
        return expect(self.like, arguments)

    def split(self, value: Any) -> tuple[Any, ...]:
        """Return the results. Raise Broken if there are not as many as the function has."""
        names = self.function.returns
        if isinstance(value, (tuple, list)) and len(value) == len(names):
            return tuple(value)
        nothing = isinstance(value, Foreign) and value.description == "NoneType"
        listed = ", ".join(name.lstrip("*") for name in names)
        end = f"; expected {len(names)} results: ({listed})."
        raise Broken.unexpected(f"{self.name} returned", None if nothing else value, end)


@dataclass(frozen=True)
class InChunks(Stateful):
    """A function with a cache, fed in chunks; to a law, a function of the whole sequence.

    step takes the new part of the sequence first, as `x_new` or `tokens_new`, and `cache`. If the
    sequence is shorter than the chunks, the last ones are shorter or missing. An argument that is a
    tuple holds one value for each chunk. known: the arguments that only the empty cache takes, and
    step does not.
    """

    chunks: tuple[int, ...]
    known: tuple[str, ...] = ()
    in_turns = "With several sequences in turns, each with a cache of its own: "

    @property
    def text(self) -> str:
        """Return the argument that is cut into chunks: `x` if the function takes `x_new`."""
        return self.function.takes[0].removesuffix("_new")

    def __call__(self, **whole: Any) -> NDArray[Any]:
        return self.join(whole, self.step)

    def call_unchanged(self, whole: Arguments) -> NDArray[Any]:
        """Return the whole result, if every call leaves its own arguments alone."""
        return self.join(whole, lambda **given: call_unchanged(self.step, given))

    def parts(self, whole: Arguments, ask: Function | None = None) -> Iterator[Piece]:
        """Make a cache at once, and feed it a chunk for each requested piece."""
        return self._pieces(whole, ask or self.step, self.fresh())

    def _pieces(self, whole: Arguments, ask: Function, cache: Any) -> Iterator[Piece]:
        for number, (start, part) in enumerate(self._parts(whole[self.text])):
            given = {
                name: value[number] if isinstance(value, tuple) else value
                for name, value in whole.items()
                if name != self.text and name not in self.known
            }
            value = ask(**{self.function.takes[0]: part, "cache": cache, **given})
            self.step.release(cache)  # caches of old sequences may be large
            result, cache = self.split(value)
            yield Piece(number, start, start + _length(part), result)
        self.step.release(cache)

    def pick_last(self, value: NDArray[Any], whole: Arguments) -> tuple[NDArray[Any], str]:
        """Return the last call's part of the whole result, and how many tokens that call read."""
        start, part = list(self._parts(whole[self.text]))[-1]
        new, params = _length(part), whole.get("params", {})
        what = "token" if self.text == "tokens" else "position"
        limit = f"; T_max is {len(params['position'])}" if "position" in params else ""
        read = f" for {new} new {what}{'s' * (new > 1)}, with {start} in the cache{limit}"
        return value[..., -new:, :], read

    def _parts(self, text: Any) -> Iterator[tuple[int, Any]]:
        start = 0
        for number, size in enumerate(self.chunks):
            if isinstance(text, tuple):
                yield start, text[number]
            elif start < _length(text):
                yield start, _section(text, start, start + size)
            start += size

    def join(self, whole: Arguments, ask: Function) -> NDArray[Any]:
        """Return the results of `ask` for all chunks as one array. Raise Broken if that fails."""
        outputs: list[NDArray[Any]] = []
        for piece in self.parts(whole, ask):
            array, long = as_array(piece.value), piece.stop - piece.start
            if array is None or array.ndim < 2 or array.shape[-2] != long:
                end = f"; its axis -2 should be time, {long} long."
                raise Broken.unexpected(f"{self.function.returns[0]} is", piece.value, end)
            forms = [(*one.shape[:-2], one.shape[-1]) for one in (array, *outputs[:1])]
            if forms[0] != forms[-1]:
                raise Broken(
                    f"{self.function.returns[0]} has shape {UNSAID} for chunk "
                    f"{piece.number + 1}, but had {UNSAID} for chunk 1.",
                    shapes=[array.shape, outputs[0].shape],
                )
            outputs.append(array)
        return np.concatenate(outputs, axis=-2)

    def judge(self, case: Case, piece: Piece) -> None:
        """Raise Broken unless a chunk has the rows that the reference returns for the whole."""
        expected = case.right_result(self)[..., piece.start : piece.stop, :]
        if case.witness is not None:
            place = {"chunk": piece.number, "start": piece.start, "stop": piece.stop}
            here = replace(case, sizes={**case.sizes, **place})
            case.witness(here, expected, piece.value, EXACT)
            return
        result, number = self.function.returns[0], piece.number + 1
        positions = positions_text(piece.start, piece.stop - 1)
        parts = len(self.chunks)
        sizes = f", of {' + '.join(map(str, self.chunks))} positions" if parts <= 6 else ""
        chunk = f"chunk number {number} of {parts}{sizes}"
        where = f"position{'s' * (piece.stop - piece.start > 1)} {positions} ({chunk})"
        if as_array(piece.value) is None:
            order = ", ".join(name.lstrip("*") for name in self.function.returns)
            end = f"; expected an array. Do the results come in the order ({order})?"
            raise Broken.unexpected(f"{result} for {where} is", piece.value, end)
        rest = [name for name in case.arguments if name not in (self.text, *self.known)]
        text = case.arguments[self.text]
        whole = text[0] if isinstance(text, tuple) else text
        cut = spell_section(self.text, whole, piece.start, piece.stop)
        with showing(f"{self.name}({', '.join([cut, 'cache', *rest])})", case.arguments):
            part, tolerance = f"{result} for {where}: ", case.within(EXACT)
            matches(expected, piece.value, tolerance, name=result, part=part)


def agrees_in_parts(function: Stateful, cases: Sequence[Case]) -> None:
    """Demand that each call returns what the reference returns for its part of the whole."""
    for case in cases:
        for part in function.parts(case.arguments):
            function.judge(case, part)


def are_separate(student: Student, functions: Sequence[Stateful], cases: Sequence[Case]) -> None:
    """Demand that interleaved runs, each with a state of its own, give right results.

    What a call returned, besides the state, must still be the same in the end. functions: one for
    each case, with the same number of parts.
    """
    first = functions[0]
    noted = Noted(first.step, keep=True)
    pairs = list(zip(functions, cases, strict=True))
    runs = [function.parts(case.arguments, noted) for function, case in pairs]
    with noting(first.in_turns):
        for turn in zip(*runs, strict=True):
            for (function, case), part in zip(pairs, turn, strict=True):
                function.judge(case, part)
    for answer in noted.answers:
        now = student.fetch(answer.kept)
        now = now[:-1] if isinstance(now, (tuple, list)) else now
        still(first.step, answer.value[:-1], now, first.results)
