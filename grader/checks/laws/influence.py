"""Measure which output moves when one input changes, for the maps of influence.

A map is drawn only after something failed. It earns nothing and costs nothing. It shows which
position looks at which, and the numbers of a failing case do not.
"""

from __future__ import annotations

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

    def at(self, source: int) -> Arguments:
        """Return the arguments with that one position replaced."""
        arguments = dict(self.arguments)
        for name, axis in self.along.items():
            array = arguments[name].copy()
            index = [slice(None)] * array.ndim
            index[axis] = slice(source, source + 1)
            array[tuple(index)] = self.others[name][tuple(index)]
            arguments[name] = array
        return arguments


@dataclass(frozen=True)
class Moves:
    """A map of a function whose result has a time axis.

    sees[i][j]: whether the right output i moves when input j changes as in `change`. axis: time in
    the result. part: which of several results it is. offers: a second change, which reaches outputs
    only through an input's key and value. Through its query, every output would move with its own
    input. offered: where that second change counts, by default at the output's own position and
    before it.
    """

    change: Nudge
    sees: Bools
    axis: int = -2
    part: int | None = None
    offers: Nudge | None = None
    offered: Bools | None = None
    output: str = "position"
    input: str = "token"
    how: str = ""
    all_matter: bool = True

    def draw(self, function: Asked) -> Influence:
        """Return the map of this function.

        Raise Broken if it has no such time axis, or does not give the same result twice.
        """
        moved = self._find_moved(function, self.change)
        if self.offers is not None:
            moved = self._by_offers(function, self.offers, moved)
        return Influence(
            tuple(tuple(_number(value) for value in row) for row in moved),
            self.all_matter,
            tuple(map(tuple, self.sees.tolist())),
            *(self.output, self.input, self.how),
        )

    def _by_offers(
        self, function: Asked, offers: Nudge, moved: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the movements, with those of the second change where they count."""
        where = past(*moved.shape) if self.offered is None else self.offered
        offered = np.where(where, self._find_moved(function, offers), 0.0)
        # Keys and values made with the wrong weights may not read what was changed.
        return np.where(where, offered, moved) if offered.any() else moved

    def _find_moved(self, function: Asked, change: Nudge) -> NDArray[np.float64]:
        before = self._result(function, change.arguments)
        columns = [
            movement(before, self._result(function, change.at(source)), self.axis)
            for source in range(change.length)
        ]
        # Random numbers and remnants of earlier calls move outputs too, but no input does.
        if movement(before, self._result(function, change.arguments), self.axis).any():
            raise Broken("The same call returned something else.")
        return np.stack(columns, axis=1)

    def _result(self, function: Asked, arguments: Arguments) -> NDArray[Any]:
        value = function(**arguments)
        if self.part is not None:
            several = isinstance(value, (tuple, list)) and len(value) > self.part
            value = value[self.part] if several else None
        array = as_array(value)
        if array is None or array.ndim < -self.axis or array.shape[self.axis] != len(self.sees):
            raise Broken("The result has no such time axis.")
        return array


@dataclass(frozen=True)
class Scored:
    """A map of a loss: which position is scored against which target.

    raised(i, j): the arguments with which position i gives target j a higher probability. That
    moves a right loss if j is the target of i. Elsewhere it moves the loss the other way. sign: -1
    for a loss, which falls, and 1 for a log probability, which rises.
    """

    arguments: Arguments
    raised: Callable[[int, int], Arguments]
    sees: Bools
    sign: int = -1
    output: str = "loss of position"
    input: str = "target"
    how: str = ""

    def draw(self, function: Asked) -> Influence:
        """Return the map of this function.

        Raise Broken if its fault is not the choice of targets.
        """
        before = _single(function(**self.arguments))
        rows = []
        for i, row in enumerate(self.sees):
            after = [_single(function(**self.raised(i, j))) for j in range(len(row))]
            rows.append([max(0.0, self.sign * (value - before)) for value in after])
        moved = np.asarray(rows)
        moved[moved <= UNMOVED] = 0.0
        if not np.isfinite(moved).all():
            raise Broken("The result is not a finite number.")
        if np.count_nonzero(moved, axis=1).max() > 1:
            raise Broken("A position is scored against several targets.")
        allowed = tuple(map(tuple, self.sees.tolist()))
        named = (self.output, self.input, self.how)
        return Influence(tuple(map(tuple, moved.tolist())), True, allowed, *named)


Map = Moves | Scored


def _single(value: Any) -> float:
    array = as_array(value)
    if array is None or array.ndim or not np.isfinite(array):
        raise Broken("The result is not a finite number.")
    return float(array)


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
