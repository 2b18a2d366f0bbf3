"""The losses of a training, as they are told: in a line, in a plot of letters, on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

KEPT = 20  # losses that a printed one is the mean of
SIGNS = "o*+"
WIDTH, HEIGHT = 55, 12


@dataclass(frozen=True)
class Losses:
    """Named losses by the number of the step, the first is 1."""

    name: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, step: int, value: float) -> None:
        """Note one more."""
        self.steps.append(step)
        self.values.append(value)

    @property
    def recent(self) -> float:
        """The mean of the last few."""
        last = self.values[-KEPT:]
        return sum(last) / len(last)

    def smooth(self) -> Losses:
        """Return the mean of every loss and the few before it: a curve that can be read."""
        means = [
            sum(part) / len(part)
            for part in (self.values[max(0, i - KEPT + 1) : i + 1] for i in range(len(self.values)))
        ]
        return Losses(self.name, self.steps, means)


def plot_letters(lines: Sequence[Losses]) -> list[str]:
    """Return the curves as lines of text, from a loss of 0 up."""
    most = max(value for line in lines for value in line.values)
    last = max(step for line in lines for step in line.steps)
    first = min(step for line in lines for step in line.steps)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for sign, line in zip(SIGNS, lines):
        for step, value in zip(line.steps, line.values):
            across = (step - first) / max(1, last - first)
            up = value / most if most > 0 else 0.0
            cells[round((1 - up) * (HEIGHT - 1))][round(across * (WIDTH - 1))] = sign
    rows = []
    for number, row in enumerate(cells):
        level = most * (1 - number / (HEIGHT - 1))
        name = f"{level:.2f}" if number in (0, HEIGHT // 2, HEIGHT - 1) else ""
        rows.append(f"{name:>7} |{''.join(row).rstrip()}")
    rows.append(" " * 8 + "+" + "-" * WIDTH)
    rows.append(f"{first:>10}{f'step {last}':>{WIDTH - 2}}")
    rows += [f"{'':8} {sign} {line.name}" for sign, line in zip(SIGNS, lines)]
    return rows
