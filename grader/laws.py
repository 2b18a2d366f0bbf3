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

from grader.client import Raised
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
from grader.protocol import Counted, Laid
from grader.records import Evidence
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


def _futures(case: Case, along: Axes) -> Iterator[tuple[int, float]]:
    """Every cut, smallest change first. Sizes mean nothing to tokens."""
    name, axis = next(iter(along.items()))
    length = case.arguments[name].shape[axis]
    sizes = (1.0,) if case.arguments[name].dtype.kind in "iu" else (1.0, 1e3)
    for size in sizes:
        for start in range(1, length):
            yield start, size


def future_does_not_matter(
    function: Function, cases: Sequence[Case], *, along: Axes, axis: int = -2
) -> None:
    """Outputs before a cut stay when all inputs from the cut on are replaced, for every cut.

    along: the arguments with a time axis, and which axis that is; axis: time in the output.
    """
    for case in cases:
        first, time = next(iter(along.items()))
        length = case.arguments[first].shape[time]
        before = _output(function, case.arguments, axis, length)
        for start, size in _futures(case, along):
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
    function: Function, cases: Sequence[Case], *, batched: Sequence[str]
) -> None:
    """What is computed for one sequence of a batch does not depend on the others."""
    for case in cases:
        before = as_array(function(**case.arguments))
        rows = case.arguments[batched[0]].shape[0]
        for row in range(rows):
            draw = case.draw(("rows", row))
            arguments = dict(case.arguments)
            for name in batched:
                array = arguments[name]
                vocabulary = int(case.sizes.get("vocabulary", 2))
                other = _other(array, draw, 1.0, vocabulary)
                arguments[name] = np.where(
                    np.arange(rows).reshape(-1, *[1] * (array.ndim - 1)) == row, array, other
                )
            after = as_array(function(**arguments))
            _row_unmoved(function, case, before, after, row)


def _row_unmoved(
    function: Function,
    case: Case,
    before: NDArray[Any] | None,
    after: NDArray[Any] | None,
    row: int,
) -> None:
    if before is None or after is None or before.shape != after.shape or not before.ndim:
        raise Broken(f"{_name(function)} does not return one result for each sequence of a batch.")
    wrong = wrong_cells(before[row].astype(float), after[row].astype(float), EXACT)
    if wrong.any():
        told = (
            f"The result for sequence {row} of a batch changed when only other sequences changed."
        )
        call = call_text(_name(function), case.arguments)
        inputs = shown_inputs(case.arguments)
        expected = (shown(f"sequence {row} before", before[row]),)
        got = (shown(f"sequence {row} after", after[row], wrong),)
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
    function: StudentFunction, cases: Sequence[Case], *, like: str | None = None
) -> None:
    """Right on arrays that lie anyhow in memory and cannot be written; unchanged where they can."""
    for case in cases:
        for words, (layout, writable) in LAYOUTS.items():
            laid = mapped(case.arguments, lambda array: Laid(array, layout, writable))  # noqa: B023
            note = f"With arguments that are {words}: "
            try:
                value = function(**laid)
            except Raised as raised:
                read_only = "read-only" in raised.text or "writeable" in raised.text
                raise Broken(f"{note}it writes into them.") from None if read_only else raised
            with _noting(note):
                _right(function, case, value, like)
        _unchanged(function, case)


def _unchanged(function: StudentFunction, case: Case) -> None:
    answer = function.answer(**case.arguments, arguments=True)
    match answer.arguments:
        case [list(args), dict(kwargs)]:
            after = dict(zip(function.function.takes, args, strict=False)) | kwargs
        case _:
            raise Broken(f"{function.name} lost its arguments.")
    for name, value in case.arguments.items():
        _argument_unchanged(function, name, value, after.get(name))


def _argument_unchanged(function: StudentFunction, name: str, value: Any, after: Any) -> None:
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
                function.name, (), (shown(f"{name} before", value),), (shown("after", after, wrong),)
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
