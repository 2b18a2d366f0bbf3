"""Test the diagnosis on programs whose mistake is known.

A cause is right if it has the mistake's own name. Two mistakes with different names are alike if
they give the same answers to a whole suite of fresh inputs. This is tried, not assumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.answer_key.variants import FAIR, MISTAKES, Variant, read
from grader.checks.suites import Live
from grader.diagnosis.calls import Call, has_read_only
from grader.diagnosis.library import Cause
from grader.diagnosis.replay_client import Replay
from grader.diagnosis.search import WRITES
from grader.diagnosis.wording import name_cause
from grader.engine.grading import Grader, make_grader
from grader.intake.submission import read_folder
from grader.isolation import Host
from grader.isolation.client import Raised
from grader.report.records import CheckVerdict, Diagnosis, Status
from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step

UNSEEN = ROOT / "tests" / "corpora" / "unseen"


class Naming(Enum):
    """How correct the causes are that nopeek gave for one program."""

    RIGHT = "right"
    ALIKE = "alike"
    WRONG = "wrong"
    UNREAD = "unread"
    SILENT = "silent"


@dataclass(frozen=True)
class Diagnosed:
    """The outcome for one program. named: the causes' ids, wrong ones marked with `!`."""

    step: str
    kind: str
    name: str
    id: str
    failed: tuple[str, ...]
    named: tuple[str, ...]
    naming: Naming


@dataclass(frozen=True)
class Task:
    """Some of a step's programs, of one kind."""

    step: str
    kind: str
    suite: str
    seed: int
    names: tuple[str, ...]


def outcomes(registry: Registry, host: Host, task: Task) -> list[Diagnosed]:
    """Return the outcomes of a task's programs."""
    step = registry.find(task.step)
    folder = FAIR if task.kind == "fair" else MISTAKES
    variants = [one for one in read(folder, step) if one.name in task.names]
    grader = make_grader(registry, host, task.suite, task.seed, [step])
    judged = [(v, grader.find_causes(v.submission, step)[0]) for v in variants]
    grader.thorough = False
    grader.bench.change_inputs(lambda step: Live(task.seed + 1))
    return [Examined(grader, step, *one).outcome() for one in judged]


def judge_unseen(registry: Registry, host: Host, step: Step) -> list[Diagnosed]:
    """Return the outcomes of a step's unseen programs, or [] if it has none."""
    paths = sorted(UNSEEN.glob(f"wrong/*/{step.filename}"))
    if not paths:
        return []
    read = json.loads((UNSEEN / "causes.json").read_text(encoding="utf-8"))

    grader = make_grader(registry, host, "visible", 0, [step])
    return [
        _as_read(
            path.parent,
            grader.find_causes(read_folder(path.parent, registry), step)[0],
            read.get(path.parent.name, {}),
        )
        for path in paths
    ]


def _as_read(path: Path, checks: Sequence[CheckVerdict], read: Mapping[str, Any]) -> Diagnosed:
    """Return the outcome of a program; if it has a cause, a reader has judged that cause."""
    function = (path / "why.txt").read_text(encoding="utf-8").split()[0]
    given = [c.diagnosis for c in checks if c.diagnosis and c.function == function]
    named = tuple(d.misconception for d in given if d.known)[:1]
    if not named:
        naming = Naming.SILENT
    elif named != (read.get("recognised"),):
        naming = Naming.UNREAD
    else:
        naming = Naming.RIGHT if read["right"] else Naming.WRONG
    step = next(path.glob("step*.py")).stem
    return Diagnosed(step, "unseen", path.name, "", _failed_checks(checks), named, naming)


def _failed_checks(checks: Sequence[CheckVerdict]) -> tuple[str, ...]:
    passed = (Status.PASSED, Status.SKIPPED)
    return tuple(check.check for check in checks if check.status not in passed)


def _is_named(one: Diagnosis, cause: Diagnosis) -> bool:
    """Return whether a cause is that one; the words of another that fits may follow."""
    return one.misconception == cause.misconception and cause.says.startswith(one.says)


@dataclass(frozen=True)
class Examined:
    """A variant and the verdicts on it; the grader is ready with fresh inputs."""

    grader: Grader
    step: Step
    variant: Variant
    checks: Sequence[CheckVerdict]

    def outcome(self) -> Diagnosed:
        """Return how correct the named cause is."""
        failed = _failed_checks(self.checks)
        causes = {
            check.function: check.diagnosis
            for check in reversed(self.checks)
            if check.diagnosis and check.check in failed and check.diagnosis.known
        }
        kinds = {function: self._kind(function, cause) for function, cause in causes.items()}
        marks = [
            cause.misconception + "!" * (kinds[function] is Naming.WRONG)
            for function, cause in causes.items()
        ]
        order = [Naming.WRONG, Naming.ALIKE, Naming.RIGHT]
        naming = next((kind for kind in order if kind in kinds.values()), Naming.SILENT)
        v = self.variant
        return Diagnosed(v.step, v.kind, v.name, v.id, failed, tuple(marks), naming)

    def _kind(self, function: str, cause: Diagnosis) -> Naming:
        if self.variant.kind == "fair":
            return Naming.WRONG
        if cause.misconception == self.variant.id:
            return Naming.RIGHT
        if cause == WRITES:
            return Naming.ALIKE if self._writes() else Naming.WRONG
        library = self.grader.library
        steps = [*self.grader.registry.before(self.step), self.step]
        known = [Cause((v,)) for step in steps for v in read(MISTAKES, step)]
        named = [one for one in known if _is_named(name_cause(one, self.step), cause)]
        with Replay(library, self.step, self._fresh) as replay:
            return Naming.ALIKE if replay.explaining(function, named) else Naming.WRONG

    @cached_property
    def _fresh(self) -> Sequence[Call]:
        """Return its calls in the same checks, on inputs that the diagnosis has not seen."""
        _, log = self.grader.find_causes(self.variant.submission, self.step)
        return log.calls

    def _writes(self) -> bool:
        """Return whether it fails on read-only arrays, and only there."""
        refused = [
            call
            for call in self._fresh
            if isinstance(call.outcome, Raised) and "read-only" in call.outcome.text
        ]
        return bool(refused) and all(map(has_read_only, refused))
