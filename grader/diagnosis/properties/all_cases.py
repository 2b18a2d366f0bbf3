"""Put wrong code through all cases of its checks; a check itself stops at the first wrong result.

The check functions are called once more, on a worker of their own. Their cases note a result
instead of judging it. So a statement about wrong results rests on every case.
"""

import contextlib
import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.checks.laws.cases import Case
from grader.checks.student import Student
from grader.checks.suites import CheckFunction, Given
from grader.checks.tolerances import FLOAT32, Tolerance
from grader.diagnosis.calls import Log
from grader.diagnosis.properties.case_outcomes import Tried, agrees
from grader.isolation import Host
from grader.isolation.client import Answer, Program, Raised, Worker
from grader.isolation.wire import Handle, Laid
from grader.steps.inputs import digest
from grader.steps.registry import Function, Step
from grader.steps.tree import leaves

PATIENCE = 3  # calls


class CaseNotes:
    """The calls of a function, and the results that cases noted.

    start: starts a worker. apart: whether each cache is made in a worker of its own, which has
    answered nothing before.
    """

    def __init__(
        self, function: Function, start: Callable[[], Worker], *, apart: bool = False
    ) -> None:
        self.start = start
        self.apart = apart
        self.worker: Worker | None = None
        self.names = function.returns
        self.tried: list[Tried] = []
        self.error: Raised | None = None
        self.laid = False
        self.check = ""
        self.log = Log()
        self.lost = ""

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        """Return the answer, or an empty one if the code raised, so that the check continues."""
        self.error = None
        self.laid = any(isinstance(value, Laid) for value in leaves(args))
        if self.worker is None or (self.apart and all(options["opaque"])):
            self.close()
            self.worker = self.start()
        try:
            answer = self.worker.call(function, *args, **options)
        except Raised as raised:
            self.error = raised
            if any(options["opaque"]):
                self.lost = self.check  # later calls need the state that is missing now
            return Answer(None)
        if self.lost != self.check:
            self.log.note(function, args, options, answer)
        return answer

    def fetch(self, handle: Handle | None) -> Any:
        """Return a kept result as it is now; nothing if the code raised instead."""
        if handle is None or self.worker is None:
            return None
        value = self.worker.fetch(handle)
        if self.lost != self.check:
            self.log.note_again(handle, value)
        return value

    def close(self) -> None:
        """End the worker, if there is one."""
        if self.worker is not None:
            self.worker.close()

    def note(self, case: Case, expected: Any, got: Any, tolerance: Tolerance) -> None:
        """Note one result, or each of several by itself."""
        names = [name for name in self.names if not name.startswith("*")]
        several = isinstance(expected, tuple) and isinstance(got, (tuple, list))
        several = several and len(got) == len(expected) == len(names)
        # Of several steps of training, each has all results.
        if not several or any(isinstance(one, tuple) for one in expected):
            names, expected, got = [""], [expected], [got]
        single = tolerance.rtol == FLOAT32.rtol
        where = [case.sizes.get(name) for name in ("chunks", "chunk")]
        # The right result tells apart what follows from the same arguments, as training's steps do.
        key = digest([case.arguments, *where, single, self.laid, expected])
        for part, right, came in zip(names, expected, got, strict=True):
            fits = self.error is None and agrees(right, came, tolerance)
            one = Tried(part, case.arguments, case.sizes, right, came, fits, single, self.laid)
            self.tried.append(replace(one, error=self.error, key=key, check=self.check))


def try_all_cases(
    host: Host,
    program: Program,
    step: Step,
    function: Function,
    checks: Sequence[CheckFunction],
    given: Given,
    *,
    apart: bool = False,
) -> CaseNotes:
    """Return what the code does in all cases of these checks, with the suite's own sizes.

    It takes no longer than a few calls may take, so later cases can be missing. apart: make each
    cache in a process of its own, which has answered nothing before.
    """
    deadline = time.monotonic() + PATIENCE * host.limits.call_seconds

    def start() -> Worker:
        worker = Worker(host, deadline)
        worker.load(program)
        return worker

    given, found = copy.copy(given), CaseNotes(function, start, apart=apart)
    given.witness = found.note
    student = Student(step, found.ask, found.fetch)
    with contextlib.closing(found):
        for check in checks:
            found.check, first = check.id, len(found.log.calls)
            # Laws that are about something else than values end here as they may.
            with contextlib.suppress(Exception):
                check.run(student, given)
            found.log.spans[found.check] = first, len(found.log.calls)
    return found
