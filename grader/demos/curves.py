"""Place two curves on logarithmic axes, for a drawing or in letters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

SIGNS = "o*"  # of the first curve and the second


@dataclass(frozen=True)
class Curves:
    """Positive values at the same lengths; all positions are fractions of the whole extent."""

    lengths: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]

    @property
    def decades(self) -> tuple[int, int]:
        """Return the powers of ten that enclose the values."""
        least, most = (pick(pick(line) for line in self.values) for pick in (min, max))
        low = math.floor(math.log10(least))
        return low, max(low + 1, math.ceil(math.log10(most)))

    def across(self, length: float) -> float:
        """Return 0 for the first length, 1 for the last."""
        first, last = math.log(self.lengths[0]), math.log(self.lengths[-1])
        return (math.log(length) - first) / (last - first) if last > first else 0.0

    def up(self, value: float) -> float:
        """Return 0 for the lowest power of ten, 1 for the highest."""
        low, high = self.decades
        return (math.log10(value) - low) / (high - low)

    def points(self, number: int) -> list[tuple[float, float]]:
        """Return the points of one curve, (across, up)."""
        pairs = zip(self.lengths, self.values[number], strict=True)
        return [(self.across(length), self.up(value)) for length, value in pairs]


def in_letters(curves: Curves, width: int, height: int) -> list[str]:
    """Return the curves as lines of text, the highest first; dots between their points."""
    cells = [[" "] * width for _ in range(height)]

    def put(across: float, up: float, sign: str) -> None:
        cells[round((1 - up) * (height - 1))][round(across * (width - 1))] = sign

    for number in range(len(curves.values)):
        points = curves.points(number)
        for (x, y), (right, top) in itertools.pairwise(points):
            for share in (step / width for step in range(1, width)):
                put(x + share * (right - x), y + share * (top - y), ".")
    for number in range(len(curves.values)):
        for point in curves.points(number):
            put(*point, SIGNS[number])
    return ["".join(row).rstrip() for row in cells]


def ticks(curves: Curves) -> Sequence[tuple[float, str]]:
    """Return the powers of ten and their heights."""
    low, high = curves.decades
    return [((power - low) / (high - low), _power(power)) for power in range(low, high + 1)]


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
