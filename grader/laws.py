"""The laws that right code keeps, each written once and applied to many functions.

A law takes a function (a student's, or a composition of them) that is called with named
arguments, and cases. It returns nothing when the law holds and raises `Broken` when it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.client import Answer, Raised
from grader.compare import (
    EXACT,
    LARGE,
    SINGLE,
    Broken,
    Tolerance,
    as_array,
    call_text,
    described,
    matches,
    shown,
    shown_inputs,
    wrong_cells,
)
from grader.inputs import Arguments, Draw, mapped
from grader.protocol import Counted, Foreign, Laid
from grader.records import Evidence
from grader.registry import Function as Registered
from grader.student import Student, StudentFunction

Function = Callable[..., Any]
Expect = Callable[[str, Arguments], Any]
Axes = Mapping[str, int]
UNMOVED = 1e-10
PREFIX = Tolerance(0.0, UNMOVED)


@dataclass(frozen=True)
class Case:
    """Arguments of one call, and where their right result is to be had."""

    arguments: Arguments
    sizes: Mapping[str, Any]
    expect: Expect

    def expected(self, name: str) -> Any:
        """What the reference's function of that name returns for these arguments."""
        return self.expect(name, self.arguments)

    def draw(self, salt: object) -> Draw:
        """More random numbers for this case, the same every time."""
        return Draw(salt, sorted(self.sizes.items()))

    def changed(self, **arguments: Any) -> Case:
        """The same case with some arguments replaced."""
        return replace(self, arguments={**self.arguments, **arguments})


def _name(function: Function) -> str:
    return str(getattr(function, "name", None) or getattr(function, "__name__", "the function"))


def _names(function: Function) -> tuple[str, ...]:
    if isinstance(function, StudentFunction):
        return function.function.returns
    return ()


def _right(
    function: Function, case: Case, got: Any, like: str | None = None, tolerance: Tolerance = EXACT
) -> None:
    """Raises Broken unless `got` is the case's right result."""
    name = _name(function)
    matches(
        case.expected(like or name),
        got,
        tolerance,
        name=name,
        call=call_text(name, case.arguments),
        inputs=shown_inputs(case.arguments),
        names=_names(function),
    )


@contextmanager
def _noting(note: str) -> Iterator[None]:
    """Puts the circumstances in front of what is found inside."""
    try:
        yield
    except Broken as broken:
        raise Broken(note + broken.told, note + broken.shown, broken.evidence) from None


def agrees(function: Function, cases: Sequence[Case], *, like: str | None = None) -> None:
    """Returns what the reference returns. like: the reference's name for it, if it has another."""
    for case in cases:
        _right(function, case, function(**case.arguments), like)


def _single(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def agrees_in_float32(
    function: Function, cases: Sequence[Case], *, like: str | None = None
) -> None:
    """Stays right, to float32's precision, when all numbers are float32."""

    for case in cases:
        with _noting("With float32 inputs: "):
            got = function(**mapped(case.arguments, _single))
            _right(function, case, got, like, SINGLE)


def stays_right_when_large(
    function: Function, cases: Sequence[Case], *, like: str | None = None
) -> None:
    """Finite and right where numbers are very large, or very far apart."""
    name = _name(function)
    for case in cases:
        got = function(**case.arguments)
        array, wanted = as_array(got), np.asarray(case.expected(like or name))
        if array is not None and array.shape == wanted.shape and array.dtype.kind == "f":
            _finite(name, case, wanted, array)
        _right(function, case, got, like, LARGE)


def _finite(name: str, case: Case, wanted: NDArray[Any], array: NDArray[Any]) -> None:
    bad = ~np.isfinite(array) & np.isfinite(wanted)
    if bad.any():
        what = "NaN" if np.isnan(array[bad]).any() else "infinite"
        told = f"With very large scores {np.count_nonzero(bad)} of {bad.size} results are {what}."
        inputs = shown_inputs(case.arguments)
        expected, got = (shown("expected", wanted),), (shown("got", array, bad),)
        call = call_text(name, case.arguments)
        raise Broken(told, evidence=Evidence(call, inputs, expected, got))


def _positions(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}..{last}"


def _axis_positions(moved: NDArray[Any], axis: int) -> list[int]:
    others = tuple(i for i in range(moved.ndim) if i != axis % moved.ndim)
    return [int(i) for i in np.flatnonzero(moved.any(axis=others))]


def _output(function: Function, arguments: Arguments, axis: int, length: int) -> NDArray[Any]:
    """The result, if it is an array with a time axis of that length; the laws of time need one."""
    value = function(**arguments)
    array = as_array(value)
    if array is None or array.ndim < -axis or array.shape[axis] != length:
        raise Broken(
            f"{_name(function)} returned {described(value)}; "
            f"its axis {axis} should be time, {length} long."
        )
    return array


def _cut(arguments: Arguments, along: Axes, part: slice) -> Arguments:
    """The arguments with only that part of time."""

    def only(name: str, value: Any) -> Any:
        if name not in along or value is None:
            return value
        index = [slice(None)] * value.ndim
        index[along[name]] = part
        return value[tuple(index)]

    return {name: only(name, value) for name, value in arguments.items()}


def _other(array: NDArray[Any], draw: Draw, size: float, vocabulary: int) -> NDArray[Any]:
    """As many values that have nothing to do with the array's; tokens all differ from its own."""
    if array.dtype.kind == "b":
        return draw.uniform(*array.shape) < 0.5
    if array.dtype.kind in "iu":
        return (array + 1 + draw.tokens(vocabulary - 1, *array.shape)) % vocabulary
    return draw.normal(*array.shape) * size


def _replaced(case: Case, along: Axes, start: int, size: float) -> Arguments:
    """The arguments with everything from position `start` on replaced."""
    draw = case.draw(("future", start, size))
    arguments = dict(case.arguments)
    for name, axis in along.items():
        array = arguments[name].copy()
        index = [slice(None)] * array.ndim
        index[axis] = slice(start, None)
        vocabulary = int(case.sizes.get("vocabulary", 2))
        array[tuple(index)] = _other(array[tuple(index)], draw, size, vocabulary)
        arguments[name] = array
    return arguments


def _futures(case: Case, along: Axes, sizes: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Every cut, smallest change first. Sizes mean nothing to tokens."""
    name, axis = next(iter(along.items()))
    length = case.arguments[name].shape[axis]
    for size in sizes[:1] if case.arguments[name].dtype.kind in "iu" else sizes:
        for start in range(1, length):
            yield start, size


def future_does_not_matter(
    function: Function,
    cases: Sequence[Case],
    *,
    along: Axes,
    axis: int = -2,
    sizes: Sequence[float] = (1.0, 1e3),
) -> None:
    """Outputs before a cut stay when all inputs from the cut on are replaced, for every cut.

    along: the arguments with a time axis, and which axis that is; axis: time in the output;
    sizes: how large the numbers are that come in their place.
    """
    for case in cases:
        first, time = next(iter(along.items()))
        length = case.arguments[first].shape[time]
        before = _output(function, case.arguments, axis, length)
        for start, size in _futures(case, along, sizes):
            arguments = _replaced(case, along, start, size)
            after = _output(function, arguments, axis, length)
            if after.shape == before.shape:
                _unmoved(function, case, before, after, start, axis, tuple(along))


def _unmoved(
    function: Function,
    case: Case,
    before: NDArray[Any],
    after: NDArray[Any],
    start: int,
    axis: int,
    names: tuple[str, ...],
) -> None:
    with np.errstate(invalid="ignore"):
        difference = np.abs(after.astype(float) - before.astype(float))
    # NaN says that the code is unstable, not that it leaks: another law's business.
    moved = np.nan_to_num(difference, nan=0.0, posinf=0.0) > UNMOVED
    early = [i for i in _axis_positions(moved, axis) if i < start]
    if not early:
        return
    length = before.shape[axis]
    row, cut = early[0], _positions(start, length - 1)
    told = (
        f"Position {row} of the output changed when only position{'s' * (start < length - 1)} "
        f"{cut} of {' and '.join(names)} changed; it may depend on "
        f"position{'s' * (row > 0)} {_positions(0, row)} only."
    )
    biggest = np.nanmax(np.take(np.where(moved, difference, 0), row, axis))
    call = call_text(_name(function), case.arguments)
    expected = shown("before", before)
    got = shown("after", after, moved & _earlier(moved, axis, start))
    inputs = shown_inputs(case.arguments)
    raise Broken(
        told,
        f"{told} The change is {biggest:.3g}.",
        Evidence(f"{call}, with positions {cut} replaced", inputs, (expected,), (got,)),
    )


def _earlier(array: NDArray[Any], axis: int, start: int) -> NDArray[Any]:
    """True at the positions before `start`, in the array's shape."""
    shape = [1] * array.ndim
    shape[axis] = array.shape[axis]
    return np.broadcast_to((np.arange(array.shape[axis]) < start).reshape(shape), array.shape)


def prefix_gives_the_same(
    function: Function,
    cases: Sequence[Case],
    *,
    along: Axes,
    axis: int = -2,
    tolerance: Tolerance = PREFIX,
) -> None:
    """One pass over everything gives what separate passes over every prefix give."""
    for case in cases:
        first, time = next(iter(along.items()))
        length = case.arguments[first].shape[time]
        whole = _output(function, case.arguments, axis, length)
        for end in range(1, length):
            prefix = _cut(case.arguments, along, slice(0, end))
            alone = _output(function, prefix, axis, end)
            part = np.take(whole, np.arange(end), axis)
            if alone.shape == part.shape:
                _same_as_alone(function, prefix, alone, part, end, axis, tolerance)


def _same_as_alone(
    function: Function,
    prefix: Arguments,
    alone: NDArray[Any],
    part: NDArray[Any],
    end: int,
    axis: int,
    tolerance: Tolerance,
) -> None:
    wrong = wrong_cells(alone, part, tolerance)
    if not wrong.any():
        return
    row = _axis_positions(wrong, axis)[0]
    told = (
        f"Position {row} of the output is another when the function sees only the first {end} "
        f"position{'s' * (end > 1)}: it depends on what comes after, or on how much comes after."
    )
    call = call_text(_name(function), prefix)
    evidence = Evidence(
        call,
        shown_inputs(prefix),
        (shown("this prefix alone", alone),),
        (shown("in the whole", part, wrong),),
    )
    raise Broken(told, evidence=evidence)


def rows_are_independent(
    function: Function,
    cases: Sequence[Case],
    *,
    batched: Sequence[str],
    sizes: Sequence[float] = (1.0,),
    what: str = "sequence",
) -> None:
    """What is computed for one sequence of a batch does not depend on the others.

    batched: the arguments whose first axis counts the sequences; sizes: how large the numbers
    are that replace the others; what: what to call them, if they are not sequences.
    """
    for case in cases:
        before = _results(function, case.arguments)
        rows = case.arguments[batched[0]].shape[0]
        for size in sizes:
            for row in range(rows):
                arguments = _others_replaced(case, batched, row, size)
                after = _results(function, arguments)
                for (label, one), (_, other) in zip(before, after, strict=False):
                    with _noting(label):
                        _row_unmoved(function, case, one, other, row, what)


def _results(function: Function, arguments: Arguments) -> list[tuple[str, NDArray[Any] | None]]:
    """Every array that the function returns, and what to call it if there are several."""
    value, names = function(**arguments), _names(function)
    if len(names) > 1 and isinstance(value, (tuple, list)) and len(value) == len(names):
        return [(f"{name}: ", as_array(item)) for name, item in zip(names, value, strict=True)]
    return [("", as_array(value))]


def _others_replaced(case: Case, batched: Sequence[str], row: int, size: float) -> Arguments:
    """The arguments with every sequence but one replaced."""
    draw = case.draw(("rows", row, size))
    vocabulary = int(case.sizes.get("vocabulary", 2))
    arguments = dict(case.arguments)
    for name in batched:
        array = arguments[name]
        here = np.arange(len(array)).reshape(-1, *[1] * (array.ndim - 1)) == row
        arguments[name] = np.where(here, array, _other(array, draw, size, vocabulary))
    return arguments


def _row_unmoved(
    function: Function,
    case: Case,
    before: NDArray[Any] | None,
    after: NDArray[Any] | None,
    row: int,
    what: str,
) -> None:
    if before is None or after is None or before.shape != after.shape or before.shape[:1] <= (row,):
        raise Broken(f"{_name(function)} does not return one result for each {what}.")
    wrong = wrong_cells(before[row].astype(float), after[row].astype(float), EXACT)
    if wrong.any():
        told = f"The result for {what} {row} changed when only the other {what}s changed."
        call = call_text(_name(function), case.arguments)
        inputs = shown_inputs(case.arguments)
        expected = (shown(f"{what} {row} before", before[row]),)
        got = (shown(f"{what} {row} after", after[row], wrong),)
        raise Broken(told, evidence=Evidence(call, inputs, expected, got))


def answers_the_same_again(
    student: Student, function: StudentFunction, cases: Sequence[Case], *, also: Sequence[Case]
) -> None:
    """f(a), f(b), f(a): the same answer twice, and the first one is still what it was.

    also: other arguments of the same shapes, which must get an answer of their own.
    """
    for case, other in zip(cases, also, strict=True):
        first = function.answer(**case.arguments, keep=True)
        agrees(function, [other])
        if first.kept is not None:
            _still(function, first.value, student.fetch(first.kept))
        with _noting("Called a second time with the same arguments: "):
            agrees(function, [case])


def _still(function: StudentFunction, before: Any, now: Any) -> None:
    name = function.name
    before = tuple(before) if isinstance(before, list) else before
    try:
        matches(before, now, Tolerance(0, 0), name=name, names=_names(function))
    except Broken as broken:
        told = (
            f"An array that {name} had returned changed when {name} was called again: "
            "results share memory."
        )
        raise Broken(told, evidence=broken.evidence) from None


LAYOUTS = {
    "read-only": ("C", False),
    "in Fortran order": ("F", False),
    "every second element of a larger array": ("strided", False),
    "a reversed view": ("reversed", False),
}


def leaves_arguments_alone(
    function: StudentFunction | InChunks, cases: Sequence[Case], *, like: str | None = None
) -> None:
    """Right on arrays that lie anyhow in memory and cannot be written; unchanged where they can."""
    for case in cases:
        for words, (layout, writable) in LAYOUTS.items():
            laid = mapped(case.arguments, lambda array: Laid(array, layout, writable))  # noqa: B023
            note = f"With arguments that are {words}: "
            try:
                value = function(**laid)
            except Raised as raised:
                if "read-only" in raised.text or "writeable" in raised.text:
                    raise Broken(f"{note}it writes into them.") from None
                raise
            with _noting(note):
                _right(function, case, value, like)
        _unchanged(function, case.arguments)


def _unchanged(function: StudentFunction | InChunks, arguments: Arguments) -> Answer:
    answer = function.answer(**arguments, arguments=True)
    match answer.arguments:
        case [list(args), dict(kwargs)]:
            after = dict(zip(function.function.takes, args, strict=False)) | kwargs
        case _:
            raise Broken(f"{function.name} lost its arguments.")
    for name, value in arguments.items():
        _argument_unchanged(function, name, value, after.get(name))
    return answer


def _argument_unchanged(
    function: StudentFunction | InChunks, name: str, value: Any, after: Any
) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            found = after.get(key) if isinstance(after, dict) else None
            _argument_unchanged(function, key, item, found)
    elif isinstance(value, np.ndarray) and not (
        isinstance(after, np.ndarray) and np.array_equal(value, after, equal_nan=False)
    ):
        changed = isinstance(after, np.ndarray) and after.shape == value.shape
        evidence = None
        if changed:
            wrong = np.asarray(value != after)
            evidence = Evidence(
                function.name,
                (),
                (shown(f"{name} before", value),),
                (shown("after", after, wrong),),
            )
        raise Broken(f"{function.name} changed its argument {name}.", evidence=evidence)


def is_distribution(function: Function, cases: Sequence[Case], *, axis: int = -1) -> None:
    """Non-negative, and sums to 1 along the axis, to 1e-12."""
    for case in cases:
        value = function(**case.arguments)
        array = as_array(value)
        if array is None or not array.ndim or array.dtype.kind != "f":
            raise Broken(f"{_name(function)} returned {described(value)}; expected probabilities.")
        call, inputs = call_text(_name(function), case.arguments), shown_inputs(case.arguments)
        if not (array >= 0).all():
            got = (shown("got", array, ~(array >= 0)),)
            raise Broken("Some weights are negative.", "", Evidence(call, inputs, (), got))
        off = np.abs(array.sum(axis=axis) - 1)
        if not (off <= 1e-12).all():
            got = (shown("got", array),)
            raise Broken(
                "The weights of some slices do not sum to 1.",
                f"The weights of some slices do not sum to 1: one is off by {np.nanmax(off):.3g}.",
                Evidence(call, inputs, (), got),
            )


def rejects(function: Function, cases: Sequence[Case], because: str) -> None:
    """ValueError for bad arguments; because says what is bad about them."""
    for case in cases:
        try:
            value = function(**case.arguments)
        except Raised as raised:
            if "ValueError" in raised.kinds:
                continue
            raise Broken(
                f"{because}: expected a ValueError, but {raised.type} was raised."
                if raised.kinds and raised.type == raised.kinds[0]
                else f"{because}: expected a ValueError, but another exception was raised."
            ) from None
        raise Broken(
            f"{because}: expected a ValueError, but {_name(function)} returned {described(value)}."
        )


def work_is_linear(
    function: StudentFunction,
    cases: Sequence[Case],
    *,
    weights: Sequence[str],
    tokens: Callable[[Case], int],
    because: str,
) -> None:
    """Projection work, counted in the worker, grows with the number of tokens, not its square.

    cases: the same problem at growing lengths; weights: which arrays among `params` count.
    """
    counts = []
    for case in cases:
        params = {
            name: Counted(array) if name in weights else array
            for name, array in case.arguments["params"].items()
        }
        answer = function.answer(**{**case.arguments, "params": params})
        counts.append((tokens(case), answer.products))
    (few, least), (many, most) = counts[0], counts[-1]
    # Linear work keeps the cost per token; a loop over prefixes multiplies it by many/few.
    if least and most / many > (least / few) * (1 + many / few) / 2:
        raise Broken(
            f"{because} The work of projecting grew {most / least:.1f} times "
            f"when the text grew {many / few:.1f} times."
        )


@dataclass(frozen=True)
class Piece:
    """What came out for one chunk: the positions start..stop-1 of the text."""

    number: int
    start: int
    stop: int
    value: Any


def _time(array: NDArray[Any]) -> int:
    """The time axis of a text: tokens have it last, vectors have their features behind it."""
    return -1 if array.dtype.kind in "iu" else -2


def _length(text: Any) -> int:
    array = text.array if isinstance(text, Laid) else text
    return int(array.shape[_time(array)])


def _section(text: Any, start: int, stop: int) -> Any:
    """These positions of a text, laid out in memory as the text is."""
    if isinstance(text, Laid):
        return replace(text, array=_section(text.array, start, stop))
    return text[..., start:stop] if _time(text) == -1 else text[..., start:stop, :]


def _shape_of_one(output: NDArray[Any]) -> tuple[int, ...]:
    return (*output.shape[:-2], output.shape[-1])


@dataclass(frozen=True)
class InChunks:
    """A function with a cache, fed a whole text in chunks: to a law, a function of the text.

    step takes the new part of the text first, as `x_new` or `tokens_new`, and `cache`; fresh makes
    an empty one. Where the text is shorter than the chunks, the last ones are shorter or missing.
    An argument that is a tuple holds one value for each chunk.
    """

    step: StudentFunction
    fresh: Callable[[], Any]
    chunks: tuple[int, ...]

    @property
    def name(self) -> str:
        """What messages call it: the name of the student's function."""
        return self.step.name

    @property
    def function(self) -> Registered:
        """The registry's entry, as a `StudentFunction` has it."""
        return self.step.function

    @property
    def text(self) -> str:
        """The argument that is cut into chunks: `x` where the function takes `x_new`."""
        return self.function.takes[0].removesuffix("_new")

    def __call__(self, **whole: Any) -> NDArray[Any]:
        return self._joined(whole, self.step)

    def answer(self, *, arguments: bool, **whole: Any) -> Answer:
        """The answer to the whole, if every call leaves its own arguments alone."""
        value = self._joined(whole, lambda **given: _unchanged(self.step, given).value)
        return Answer(value, arguments=[[], whole] if arguments else None)

    def pieces(self, whole: Arguments, ask: Function | None = None) -> Iterator[Piece]:
        """Makes a cache at once; feeds it a chunk whenever the next piece is asked for."""
        return self._pieces(whole, ask or self.step, self.fresh())

    def _pieces(self, whole: Arguments, ask: Function, cache: Any) -> Iterator[Piece]:
        for number, (start, part) in enumerate(self._parts(whole[self.text])):
            given = {
                name: value[number] if isinstance(value, tuple) else value
                for name, value in whole.items()
                if name != self.text
            }
            value = ask(**{self.function.takes[0]: part, "cache": cache, **given})
            result, cache = self._pair(value)
            yield Piece(number, start, start + _length(part), result)

    def _parts(self, text: Any) -> Iterator[tuple[int, Any]]:
        start = 0
        for number, size in enumerate(self.chunks):
            if isinstance(text, tuple):
                yield start, text[number]
            elif start < _length(text):
                yield start, _section(text, start, start + size)
            start += size

    def _pair(self, value: Any) -> tuple[Any, Any]:
        if isinstance(value, (tuple, list)) and len(value) == 2:
            return value[0], value[1]
        nothing = isinstance(value, Foreign) and value.description == "NoneType"
        names = ", ".join(name.lstrip("*") for name in self.function.returns)
        raise Broken(
            f"{self.name} returned {described(None if nothing else value)}; "
            f"expected 2 results: ({names})."
        )

    def _joined(self, whole: Arguments, ask: Function) -> NDArray[Any]:
        outputs: list[NDArray[Any]] = []
        for piece in self.pieces(whole, ask):
            array, long = as_array(piece.value), piece.stop - piece.start
            if array is None or array.ndim < 2 or array.shape[-2] != long:
                raise Broken(
                    f"{self.function.returns[0]} is {described(piece.value)}; "
                    f"its axis -2 should be time, {long} long."
                )
            if outputs and _shape_of_one(array) != _shape_of_one(outputs[0]):
                raise Broken(
                    f"{self.function.returns[0]} has shape {array.shape} for chunk "
                    f"{piece.number + 1}, but had {outputs[0].shape} for chunk 1."
                )
            outputs.append(array)
        return np.concatenate(outputs, axis=-2)


def agrees_in_chunks(function: InChunks, case: Case, *, like: str) -> None:
    """For each chunk, returns the rows that the reference returns for the whole text."""
    for piece in function.pieces(case.arguments):
        _piece_right(function, case, piece, like)


def _piece_right(function: InChunks, case: Case, piece: Piece, like: str) -> None:
    result, number = function.function.returns[0], piece.number + 1
    positions = _positions(piece.start, piece.stop - 1)
    parts = len(function.chunks)
    way = "+".join(map(str, function.chunks)) if parts <= 6 else f"{parts}"
    where = f"position{'s' * (piece.stop - piece.start > 1)} {positions} (chunk {number} of {way})"
    if as_array(piece.value) is None:
        raise Broken(f"{result} for {where} is {described(piece.value)}; expected an array.")
    rest = [name for name in case.arguments if name != function.text]
    cut = f"{function.text}[{positions}]"
    matches(
        case.expected(like)[..., piece.start : piece.stop, :],
        piece.value,
        EXACT,
        name=result,
        part=f"{result} for {where}: ",
        call=f"{function.name}({', '.join([cut, 'cache', *rest])})",
        inputs=shown_inputs(_apart(case.arguments)),
    )


def _apart(arguments: Arguments) -> Arguments:
    """Every argument by itself, those with one value for each chunk by the chunk's number."""
    found: Arguments = {}
    for name, value in arguments.items():
        if isinstance(value, tuple):
            found |= {f"{name} of chunk {i}": item for i, item in enumerate(value, 1)}
        else:
            found[name] = value
    return found


def caches_are_separate(
    student: Student, function: InChunks, cases: Sequence[Case], *, like: str
) -> None:
    """Texts in turns, each with its own cache, come out right; earlier results do not change."""
    kept: list[Answer] = []

    def keeping(**given: Any) -> Any:
        kept.append(function.step.answer(**given, keep=True))
        return kept[-1].value

    texts = [function.pieces(case.arguments, keeping) for case in cases]
    with _noting("With several texts in turns, each with a cache of its own: "):
        for turn in zip(*texts, strict=True):
            for case, piece in zip(cases, turn, strict=True):
                _piece_right(function, case, piece, like)
    for answer in kept:
        now = student.fetch(answer.kept)
        y = now[0] if isinstance(now, (tuple, list)) and now else None
        _still(function.step, answer.value[0], y)


def probabilities_add_up(
    function: Function, cases: Sequence[Case], *, only_last: bool = False
) -> None:
    """The tokens that may come next have probabilities that add up to 1, as a mean loss has it.

    n predictions of mean loss L give a text the probability exp(-n·L). Over all possible last
    tokens this adds up to the probability of the text before, unless a prediction has seen its
    answer, or what comes after. only_last: look at the last position alone.
    """
    for case in cases:
        tokens = case.arguments["tokens"]
        for end in range(len(tokens) - 1 if only_last else 1, len(tokens)):
            before = _log_probability(function, case, tokens[:end])
            texts = [np.append(tokens[:end], i) for i in range(int(case.sizes["vocabulary"]))]
            after = [_log_probability(function, case, text) for text in texts]
            with np.errstate(all="ignore"):
                total = float(np.exp(np.logaddexp.reduce(after) - before))
            if not abs(total - 1) <= 1e-7:
                _do_not_add_up(function, case.changed(tokens=texts[0]), end, total)


def _log_probability(function: Function, case: Case, text: NDArray[Any]) -> float:
    """The text's log probability given its first token, from the mean loss of the others."""
    if len(text) < 2:
        return 0.0
    value = function(**{**case.arguments, "tokens": text})
    loss = as_array(value)
    if loss is None or loss.ndim:
        raise Broken(f"{_name(function)} returned {described(value)}; expected a single number.")
    return -(len(text) - 1) * float(loss)


def _do_not_add_up(function: Function, case: Case, end: int, total: float) -> None:
    told = (
        f"The probabilities of all tokens that may stand at position {end}, as the losses have "
        "them, do not add up to 1: a prediction depends on its answer, or on what comes after."
    )
    evidence = Evidence(call_text(_name(function), case.arguments), shown_inputs(case.arguments))
    raise Broken(told, f"{told} They add up to {total:.6g}.", evidence)
