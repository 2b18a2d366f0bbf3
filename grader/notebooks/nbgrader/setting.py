"""Choose how a course is graded: the isolation, the seed, and the steps of an assignment."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from grader.classroom import judge
from grader.classroom.judge import Exam
from grader.engine.grading import fresh_seed
from grader.engine.kit_digest import kit_digest
from grader.isolation import probe
from grader.report.problem import need_torch
from grader.steps.registry import Registry, load

SEED_FILE = ".nopeek-seed"
IDLE_SECONDS = 60.0


class SeedError(Exception):
    """The seed of a course cannot be read or stored; the text says what to do."""


def seed_of(course: Path) -> int:
    """Return the seed for the hidden inputs, drawn once and stored in the course's folder."""
    path = course / SEED_FILE
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{fresh_seed()}\n")
    try:
        return int(path.read_text())
    except ValueError:
        raise SeedError(f"{path} holds no number: remove it, and a seed is drawn anew") from None


@cache
def _isolation(name: str) -> str:
    """Return the probed isolation. Raise SandboxError or KitError if it fails."""
    here = probe.isolation_for_grading(name, load().limits)
    judge.remember_held(here)
    return here.name


def steps_with(functions: Iterable[str], registry: Registry) -> tuple[str, ...]:
    """Return the ids of the steps that these functions belong to, in order."""
    wanted = set(functions)
    return tuple(
        step.id
        for step in registry.steps
        if wanted & {function.name for function in step.functions}
    )


def exam(isolation: str, seed: int, steps: tuple[str, ...]) -> Exam:
    """Return the exam. Raise Problem, SandboxError or KitError if that fails."""
    need_torch()
    return Exam("hidden", seed, _isolation(isolation), steps, kit_digest())


class Closing:
    """Ends idle judges some time after the last submission, if the process itself continues.

    A notebook server grades one submission for each request, and never ends.
    """

    def __init__(self) -> None:
        self.timer: threading.Timer | None = None

    def later(self) -> None:
        """Restart the wait."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = threading.Timer(IDLE_SECONDS, judge.dismiss)
        self.timer.daemon = True
        self.timer.start()
