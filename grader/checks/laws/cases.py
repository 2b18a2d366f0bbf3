"""What laws are about: functions, cases, and being right about one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from grader.checks.compare import (
    EXACT,
    NOTHING,
    Broken,
    Question,
    Tolerance,
    largest,
    matches,
)
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer
from grader.steps.inputs import Arguments, Draw, digest, frozen, mapped
from grader.steps.registry import Function as Registered

Function = Callable[..., Any]
Expect = Callable[[str, Arguments], Any]
Axes = Mapping[str, int]
Witness = Callable[["Case", Any, Any, Tolerance], None]


@dataclass(frozen=True)
class Case:
    """Arguments of one call, and where their right result is to be had.

    precision: what can be asked of numbers made from these arguments, where it is less than usual.
    witness: in a survey, is told the right result and what came, and nothing is raised.
    """

    arguments: Arguments
    sizes: Mapping[str, Any]
    expect: Expect
    witness: Witness | None = None
    precision: Tolerance = NOTHING
    _known: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out about these arguments; it is asked for again for every submission."""

    def _once(self, key: object, work: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]

    def expected(self, name: str) -> Any:
        """What the reference's function of that name returns for these arguments."""
        return self._once(name, lambda: self.expect(name, self.arguments))

    def within(self, tolerance: Tolerance) -> Tolerance:
        """The tolerance, or this case's own if that is wider."""
        return tolerance.at_least(self.precision)

    def draw(self, salt: object) -> Draw:
        """More random numbers for this case, the same every time."""
        return Draw(salt, self._once("", lambda: digest(self.arguments)))

    def others(self, names: Iterable[str], salt: str, size: float) -> Arguments:
        """Values for these arguments that have nothing to do with their own."""
        names = tuple(names)
        work = functools.partial(self._others, names, (salt, size))
        return {**self._once((names, salt, size), work)}

    def _others(self, names: Sequence[str], salt: tuple[str, float]) -> Arguments:
        draw = self.draw(salt)
        vocabulary = int(self.sizes.get("vocabulary", 2))
        found = {n: other_values(self.arguments[n], draw, salt[1], vocabulary) for n in names}
        return {name: mapped(value, frozen) for name, value in found.items()}

    def changed(self, **arguments: Any) -> Case:
        """The same case with some arguments replaced."""
        return replace(self, arguments={**self.arguments, **arguments})


class Asked(Protocol):
    """A function whose whole answer can be had: a student's, or one fed in chunks."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def function(self) -> Registered:
        """The registry's entry."""

    def __call__(self, **arguments: Any) -> Any:
        """The result."""

    def answer(self, *, arguments: bool, **given: Any) -> Answer:
        """The result, and what became of the arguments."""


def name_of(function: Function) -> str:
    """What to call it in a message."""
    return str(getattr(function, "name", None) or getattr(function, "__name__", "the function"))


def names_of(function: Function) -> tuple[str, ...]:
    """What its results are called, where it is a student's."""
    if isinstance(function, StudentFunction):
        return function.function.returns
    return tuple(getattr(function, "names", ()))


def is_right(
    function: Function,
    case: Case,
    got: Any,
    like: str | None = None,
    tolerance: Tolerance = EXACT,
    expected: Any = None,
) -> None:
    """Raises Broken unless `got` is the case's right result, or the one that is expected."""
    name = name_of(function)
    expected = case.expected(like or name) if expected is None else expected
    if isinstance(expected, (tuple, list, dict)):
        # Results that belong together lose as many digits: the true gradient of b_k is 0.
        tolerance = tolerance.for_size(largest(expected))
    if case.witness is not None:
        case.witness(case, expected, got, tolerance)
        return
    matches(
        expected,
        got,
        case.within(tolerance),
        name=name,
        question=Question(name, case.arguments, sizes=case.sizes),
        names=names_of(function),
    )


@contextmanager
def noting(note: str) -> Iterator[None]:
    """Puts the circumstances in front of what is found inside."""
    try:
        yield
    except Broken as broken:
        raise Broken(note + broken.told, note + broken.shown, broken.evidence) from None


def other_values(array: NDArray[Any], draw: Draw, size: float, vocabulary: int) -> NDArray[Any]:
    """As many values that have nothing to do with the array's; tokens all differ from its own."""
    if array.dtype.kind == "b":
        return draw.uniform(*array.shape) < 0.5
    if array.dtype.kind in "iu":
        return (array + 1 + draw.tokens(vocabulary - 1, *array.shape)) % vocabulary
    return (draw.normal(*array.shape) * size).astype(array.dtype)
