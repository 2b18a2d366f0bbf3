"""Write the scripts of a step's checks, by running them on code that passes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from grader.checks.functions import CheckFunction
from grader.checks.student import Student
from grader.checks.suites import Given
from grader.engine.scripts import Noted, Script, write_script
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Shadow, Worker
from grader.steps.registry import Step


def record_scripts(
    step: Step, checks: Mapping[str, CheckFunction], given: Given, program: Program, host: Host
) -> dict[str, Script]:
    """Return the scripts of a step's checks, or {} unless the program passes all of them.

    What the program answers decides how caches are numbered in the scripts. So the code of one
    person must not write those for another.
    """
    worker = Worker(host, time.monotonic() + host.limits.step_seconds)
    worker.last = True
    scripts: dict[str, Script] = {}
    try:
        worker.load(program)
        for check in step.checks:
            noted: list[Noted] = []
            worker.noted = noted
            if not _passes(checks[check.id], step, given, worker):
                return {}
            shadow = Shadow(worker, [reply for _, reply in noted])
            _passes(checks[check.id], step, given, shadow)
            scripts[check.id] = write_script(noted, [request for request, _ in shadow.noted or ()])
    except CallFailed:
        return {}
    finally:
        with contextlib.suppress(OSError):
            worker.close()
    return scripts


def _passes(check: CheckFunction, step: Step, given: Given, worker: Worker) -> bool:
    worker.anew = True
    try:
        check.run(Student(step, worker.call, worker.fetch), given)
    except Exception:  # the answers of a shadow can lead anywhere
        return False
    return True
