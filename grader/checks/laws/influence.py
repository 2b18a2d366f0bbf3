"""Measure which output moves when one input changes, for the maps of influence.

A map is drawn only after something failed. It earns nothing and costs nothing. It shows which
position looks at which, and the numbers of a failing case do not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array
from grader.report.records import Influence
from grader.steps.inputs import Arguments

UNMOVED = 1e-10
Asked = Callable[..., Any]
Bools = NDArray[np.bool_]


def past(outputs: int, inputs: int | None = None) -> Bools:
    """Return what a causal function sees; the last output is beside the last input."""
    inputs = outputs if inputs is None else inputs
    return np.tri(outputs, inputs, inputs - outputs, dtype=bool)


def own(length: int) -> Bools:
    """Return what a function sees that treats every position by itself."""
    return np.eye(length, dtype=bool)


def everything(outputs: int, inputs: int) -> Bools:
    """Return what a function sees if nothing is hidden from it."""
    return np.full((outputs, inputs), True)


def index_along(array: NDArray[Any], axis: int, part: slice) -> tuple[slice, ...]:
    """Return the index of a part of the array along that axis."""
    return tuple(part if n == axis % array.ndim else slice(None) for n in range(array.ndim))


@dataclass(frozen=True)
class Nudge:
    """A call, and the values that replace one position at a time.

    along: the arguments with a time axis, and which axis that is. They are replaced together.
    """

    arguments: Arguments
    others: Arguments
    along: Mapping[str, int]

    @property
    def length(self) -> int:
        """Return how many positions can be changed."""
        name, axis = next(iter(self.along.items()))
        return int(self.arguments[name].shape[axis])

    def replaced(self, part: slice) -> Arguments:
        """Return the arguments with those positions replaced."""
        arguments = dict(self.arguments)
        for name, axis in self.along.items():
            array = arguments[name].copy()
            here = index_along(array, axis, part)
            array[here] = self.others[name][here]
            arguments[name] = array
        return arguments

    def at(self, source: int) -> Arguments:
        """Return the arguments with that one position replaced."""
        return self.replaced(slice(source, source + 1))


@dataclass(frozen=True)
class Moves:
    """A map of a function whose result has a time axis.

    sees[i][j]: whether the right output i moves when input j changes as in `change`. axis: time in
    the result. part: which of several results it is.
    """

    change: Nudge
    sees: Bools
    axis: int = -2
    part: int | None = None
    output: str = "position"
    input: str = "token"
    how: str = ""
    all_matter: bool = True

    def draw(self, function: Asked) -> Influence:
        """Return the map of this function.

        Raise Broken if it has no such time axis, or does not give the same result twice.
        """
        before = self._result(function, self.change.arguments)
        columns = [
            movement(before, self._result(function, self.change.at(source)), self.axis)
            for source in range(self.change.length)
        ]
        # Random numbers and remnants of earlier calls move outputs too, but no input does.
        if movement(before, self._result(function, self.change.arguments), self.axis).any():
            raise Broken("The same call returned something else.")
        return Influence(
            tuple(tuple(map(_number, row)) for row in np.stack(columns, axis=1)),
            self.all_matter,
            tuple(map(tuple, self.sees.tolist())),
            *(self.output, self.input, self.how),
        )

    def _result(self, function: Asked, arguments: Arguments) -> NDArray[Any]:
        value = function(**arguments)
        if self.part is not None:
            several = isinstance(value, (tuple, list)) and len(value) > self.part
            value = value[self.part] if several else None
        array = as_array(value)
        if array is None or array.ndim < -self.axis or array.shape[self.axis] != len(self.sees):
            raise Broken("The result has no such time axis.")
        return array


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def movement(before: NDArray[Any], after: NDArray[Any], axis: int) -> NDArray[np.float64]:
    """Return how far each position moved, by its largest number; a changed id moved by 1.

    NaN if a number was or became NaN or infinite: that is unstable, and says nothing about leaks.
    """
    if before.shape != after.shape:
        raise Broken("The shape of the result depends on the values.")
    same = before == after
    if before.dtype.kind == "f" or after.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            far = np.abs(after.astype(float) - before.astype(float))
        far = np.where(same, 0.0, np.where(np.isfinite(far), far, np.nan))
    else:
        far = np.where(same, 0.0, 1.0)
    rows = np.moveaxis(far, axis, 0).reshape(before.shape[axis], -1)
    most = rows.max(axis=1, initial=0.0)
    return np.where(most <= UNMOVED, 0.0, most)
