"""Compute the diagnosis's figures over all known mistakes, fair variants and unseen programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.accuracy import Diagnosed, Naming, Task, judge_unseen, outcomes
from grader.authoring.pools import start_pool
from grader.isolation import Process, start_host
from grader.steps import registry as registry_module
from grader.steps.registry import Step

PROMISE = 0.98
CHUNK = 15
COLUMNS = ("programs", "caught", "named", "right", "alike", "wrong", "silent")
HEADER = f" {'':<19}" + "".join(f"{name:>8}" for name in COLUMNS)
LEGEND = (
    "caught: failed a check. named: got a cause. right: the mistake's own name. alike: the name of "
    "one that answers a whole suite of fresh inputs in the same way. A fair variant must be "
    "neither rejected nor named."
)


@dataclass(frozen=True)
class Figures:
    """The outcomes for some programs of one kind."""

    title: str
    outcomes: tuple[Diagnosed, ...]

    def count(self, *namings: Naming) -> int:
        """Return the number of outcomes with that naming."""
        return sum(outcome.naming in namings for outcome in self.outcomes)

    @property
    def rejected(self) -> int:
        """Return how many failed a check."""
        return sum(bool(outcome.failed) for outcome in self.outcomes)

    @property
    def named(self) -> int:
        """Return how many got a cause."""
        return len(self.outcomes) - self.count(Naming.SILENT)

    @property
    def row(self) -> str:
        """Return a line of the table."""
        right, alike, silent = map(self.count, (Naming.RIGHT, Naming.ALIKE, Naming.SILENT))
        wrong = self.count(Naming.WRONG, Naming.UNREAD)
        numbers = (len(self.outcomes), self.rejected, self.named, right, alike, wrong, silent)
        return f" {self.title:<19}" + "".join(f"{number:>8}" for number in numbers)

    @property
    def kept(self) -> bool:
        """Return whether all were rejected, nearly all causes right, and fair ones left alone."""
        if any(outcome.kind == "fair" for outcome in self.outcomes):
            return not self.rejected and not self.named
        right = self.count(Naming.RIGHT, Naming.ALIKE)
        return self.rejected == len(self.outcomes) and right >= PROMISE * self.named


def explain_outcome(outcome: Diagnosed) -> str | None:
    """Return a hint for an instructor who adds a mistake, or None."""
    who = f"{outcome.step[:6]}  {outcome.kind} {outcome.name}"
    named = ", ".join(name.rstrip("!") for name in outcome.named)
    if outcome.kind == "fair":
        if not outcome.failed and not outcome.named:
            return None
        failed = ", ".join(outcome.failed) or "no check"
        return f" x {who}: rejected by {failed}; named {named or 'nothing'}"
    if not outcome.failed:
        return f" x {who}: no check rejects it"
    if outcome.naming is Naming.UNREAD:
        return f" x {who}: named {named}: read it, and note in causes.json whether it is right"
    if outcome.naming is Naming.WRONG:
        return f" x {who}{f' ({outcome.id})' * bool(outcome.id)}: named {named}"
    if outcome.naming is Naming.SILENT and outcome.kind == "mistake":
        return f" - {who} ({outcome.id}): no cause"
    return None


def tasks(step: Step, kind: str, suite: str, seed: int) -> list[Task]:
    """Return a step's programs of that kind in chunks."""
    names = [one.name for one in read(FAIR if kind == "fair" else MISTAKES, step)]
    return [
        Task(step.id, kind, suite, seed, tuple(names[first : first + CHUNK]))
        for first in range(0, len(names), CHUNK)
    ]


def _work(task: Task | str) -> list[Diagnosed]:
    """Judge a task, or the unseen programs of a step, in a separate process."""
    registry = registry_module.load()
    with start_host(Process(), registry.limits) as workers:
        if isinstance(task, str):
            return judge_unseen(registry, workers, registry.find(task))
        return outcomes(registry, workers, task)


def _flat(parts: Iterable[list[Diagnosed]]) -> tuple[Diagnosed, ...]:
    return tuple(outcome for part in parts for outcome in part)


def all_figures(steps: Sequence[Step], suite: str, seed: int, jobs: int) -> Iterator[Figures]:
    """Yield the figures of each step's mistakes, all mistakes, fair variants and unseen programs.

    They are found in several processes.
    """
    with start_pool(jobs) as pool:
        found = []
        for step in steps:
            here = _flat(pool.map(_work, tasks(step, "mistake", suite, seed)))
            found.append(Figures(step.id, here))
            yield found[-1]
        yield Figures("all mistakes", _flat([list(one.outcomes) for one in found]))
        fair = [task for step in steps for task in tasks(step, "fair", suite, seed)]
        yield Figures("fair variants", _flat(pool.map(_work, fair)))
        if strange := _flat(pool.map(_work, [step.id for step in steps])):
            yield Figures("unseen programs", strange)
