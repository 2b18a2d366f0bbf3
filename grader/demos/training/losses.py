"""Keep the losses of a training, as they come and smoothed."""

from __future__ import annotations

from dataclasses import dataclass, field

KEPT = 20  # losses that a printed one is the mean of


@dataclass(frozen=True)
class Losses:
    """Named losses by the number of the step, counted from 1."""

    name: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, step: int, value: float) -> None:
        """Note one more."""
        self.steps.append(step)
        self.values.append(value)

    @property
    def recent(self) -> float:
        """Return the mean of the last few."""
        last = self.values[-KEPT:]
        return sum(last) / len(last)

    def smooth(self) -> Losses:
        """Return the mean of every loss and the few before it, for a readable curve."""
        means = [
            sum(part) / len(part)
            for part in (self.values[max(0, i - KEPT + 1) : i + 1] for i in range(len(self.values)))
        ]
        return Losses(self.name, self.steps, means)
