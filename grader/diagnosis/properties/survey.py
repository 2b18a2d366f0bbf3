"""Puts wrong code through all cases of its checks: a check stops at the first wrong result.

The check functions are called once more, on a worker of their own, with cases that note a result
instead of judging it. So what is said of the wrong results rests on every case there is.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Sequence
from typing import Any

from grader.checks.compare import SINGLE, Broken, Tolerance, matches
from grader.checks.functions import CheckFunction
from grader.checks.laws import Case
from grader.checks.student import Student
from grader.checks.suites import Given
from grader.diagnosis.properties.tried import Tried
from grader.isolation import Host
from grader.isolation.client import Answer, CallFailed, Program, Raised, Worker
from grader.isolation.wire import Laid
from grader.steps.inputs import digest
from grader.steps.registry import Function, Step
from grader.steps.tree import leaves

PATIENCE = 3  # calls


class Survey:
    """Calls in one worker, and the results that cases noted."""

    def __init__(self, worker: Worker, function: Function) -> None:
        self.worker = worker
        self.names = function.returns
        self.tried: list[Tried] = []
        self.error: Raised | None = None
        self.laid = False
        self.check = ""

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        """The answer; an empty one where the code raised, so that the check goes on."""
        self.error = None
        self.laid = any(isinstance(value, Laid) for value in leaves(args))
        try:
            return self.worker.call(function, *args, **options)
        except Raised as raised:
            self.error = raised
            return Answer(None)

    def note(self, case: Case, expected: Any, got: Any, tolerance: Tolerance) -> None:
        """Keeps one result, or each of several by itself."""
        several = isinstance(expected, tuple) and isinstance(got, (tuple, list))
        names = [name for name in self.names if not name.startswith("*")]
        if several and len(got) == len(expected) == len(names):
            parts = zip(names, expected, got, strict=True)
        else:
            parts = zip([""], [expected], [got], strict=True)
        single = tolerance.rtol == SINGLE.rtol
        where = [case.sizes.get(name) for name in ("chunks", "chunk")]
        key = digest([case.arguments, *where, single, self.laid])
        for part, right, found in parts:
            self.tried.append(
                Tried(
                    part,
                    case.arguments,
                    case.sizes,
                    right,
                    found,
                    self.error is None and agrees(right, found, tolerance),
                    single,
                    self.laid,
                    self.error,
                    key,
                    self.check,
                )
            )


def agrees(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    """Whether a result is the right one."""
    try:
        matches(expected, got, tolerance)
    except Broken:
        return False
    return True


def survey(
    host: Host,
    program: Program,
    step: Step,
    function: Function,
    checks: Sequence[CheckFunction],
    given: Given,
) -> list[Tried]:
    """What became of all cases of these checks, given with the suite's own sizes for each.

    Takes no longer than a few calls may take: what was not reached by then is not in it.
    """
    worker = Worker(host, time.monotonic() + PATIENCE * host.limits.call_seconds)
    found = Survey(worker, function)
    given = copy.copy(given)
    given.witness = found.note
    try:
        worker.load(program)
        student = Student(step, found.ask, worker.fetch)
        for check in checks:
            found.check = check.function.__name__
            # Laws that are about something else than values end here as they may.
            with contextlib.suppress(Exception):
                check.run(student, given)
    except CallFailed:
        pass
    finally:
        worker.close()
    return found.tried
