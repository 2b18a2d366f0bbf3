"""Compute the diagnosis's figures over all known mistakes, fair variants and unseen programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.accuracy import (
    DOUBLE,
    SINGLE,
    Diagnosed,
    Naming,
    Task,
    judge_unseen,
    outcomes,
)
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
        """Return whether all were rejected, nearly all causes right, and fair ones left alone.

        In float32, a mistake that gives the same results as right code cannot be rejected.
        """
        if any(outcome.kind == "fair" for outcome in self.outcomes):
            return not self.rejected and not self.named
        missed = [one for one in self.outcomes if not one.failed and not one.plain]
        right = self.count(Naming.RIGHT, Naming.ALIKE)
        return not missed and right >= PROMISE * self.named


def explain_outcome(outcome: Diagnosed) -> str | None:
    """Return a hint for an instructor who adds a mistake, or None."""
    who = f"{outcome.step[:6]}  {outcome.kind} {outcome.name}"
    named = ", ".join(name.rstrip("!") for name in outcome.named)
    if outcome.kind == "fair":
        if not outcome.failed and not outcome.named:
            return None
        failed = ", ".join(outcome.failed) or "no check"
        return f" x {who}: rejected by {failed}; named {named or 'nothing'}"
    if outcome.plain:
        return f" - {who}: no different from right code in float32"
    if not outcome.failed:
        return f" x {who}: no check rejects it"
    if outcome.naming is Naming.UNREAD:
        return f" x {who}: named {named}: read it, and note in causes.json whether it is right"
    if outcome.naming is Naming.WRONG:
        return f" x {who}{f' ({outcome.id})' * bool(outcome.id)}: named {named}"
    if outcome.naming is Naming.SILENT and outcome.kind == "mistake":
        return f" - {who} ({outcome.id}): no cause"
    return None


def tasks(step: Step, kind: str, precision: str, suite: str, seed: int) -> list[Task]:
    """Return a step's programs of that kind in chunks."""
    names = [one.name for one in read(FAIR if kind == "fair" else MISTAKES, step)]
    return [
        Task(step.id, kind, precision, suite, seed, tuple(names[first : first + CHUNK]))
        for first in range(0, len(names), CHUNK)
    ]


def usable(step: Step, fair: Sequence[Diagnosed]) -> tuple[str, ...]:
    """Return the checks that most right programs pass, because float32 is too coarse for some."""
    failed = Counter(check for outcome in fair for check in outcome.failed)
    return tuple(check.id for check in step.checks if 2 * failed[check.id] <= len(fair))


def _work(task: Task | str) -> list[Diagnosed]:
    """Judge a task, or the unseen programs of a step, in a separate process."""
    registry = registry_module.load()
    with start_host(Process(), registry.limits) as workers:
        if isinstance(task, str):
            return judge_unseen(registry, workers, registry.find(task))
        return outcomes(registry, workers, task)


Run = Callable[[Sequence[Task | str]], Iterable[list[Diagnosed]]]


def figures(
    run: Run, steps: Sequence[Step], precision: str, suite: str, seed: int
) -> Iterator[Figures]:
    """Yield for each step its mistakes, then all fair variants."""
    fair: list[Diagnosed] = []
    for step in steps:
        here = _flat(run(tasks(step, "fair", precision, suite, seed)))
        checks = usable(step, here) if precision == SINGLE else ()
        given = [replace(t, usable=checks) for t in tasks(step, "mistake", precision, suite, seed)]
        yield Figures(step.id, tuple(_flat(run(given))))
        fair += [replace(o, failed=_among(checks, o.failed)) for o in here]
    yield Figures("fair variants", tuple(fair))


def _among(checks: Sequence[str], failed: Sequence[str]) -> tuple[str, ...]:
    return tuple(check for check in failed if not checks or check in checks)


def _flat(parts: Iterable[list[Diagnosed]]) -> list[Diagnosed]:
    return [outcome for part in parts for outcome in part]


def all_figures(
    steps: Sequence[Step], suite: str, seed: int, jobs: int
) -> Iterator[tuple[str, Figures]]:
    """Yield each title and its figures as they arrive, from several processes."""
    with start_pool(jobs) as pool:
        for precision in (DOUBLE, SINGLE):
            inputs = "hidden" if precision == SINGLE else suite
            for found in figures(lambda t: pool.map(_work, t), steps, precision, inputs, seed):
                yield precision, found
        strange = _flat(pool.map(_work, [step.id for step in steps]))
        if strange:
            yield "unseen", Figures("unseen programs", tuple(strange))


def total(found: Sequence[Figures]) -> Figures:
    """Return the mistakes of all steps together."""
    return Figures("all mistakes", tuple(_flat([list(one.outcomes) for one in found])))
