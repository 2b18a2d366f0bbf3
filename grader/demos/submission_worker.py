"""Load a submission's functions into a worker, to be measured and drawn; nothing is judged here."""

import contextlib
import time
from collections.abc import Iterator, Sequence

from grader.diagnosis.exceptions import Lengths, explain
from grader.engine.messages import find_loop
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Raised, TimedOut, Worker
from grader.isolation.survey import is_unfinished
from grader.report.problem import Problem
from grader.steps.registry import Registry, Step
from grader.steps.stubs import solutions

OWN = "exercises/"  # how the names of the learner's own files begin; a solution's is in <>


class NotReady(Problem):
    """The code cannot be measured; the text says why."""


def step_of(registry: Registry, function: str) -> Step:
    """Return the step that defines the function of that name. Raise NotReady if there is none."""
    if function not in registry.homes:
        raise NotReady(f"This kit has no step with {function}.")
    return registry.homes[function]


def sources(
    registry: Registry, submission: Submission, steps: Sequence[Step]
) -> dict[str, tuple[str, str]]:
    """Return the submission's modules, and right ones for the steps that it lacks.

    steps: those that must be the submission's own. Raise NotReady if one is missing.
    """
    for step in steps:
        if step.id in submission.refused:
            raise NotReady(submission.refused[step.id])
        if step.id not in submission.sources:
            raise NotReady(f"There is no {step.filename} in {submission.id}.")
    return {**right_modules(registry), **submission.texts()}


def say_unusable(submission: Submission, step: Step) -> str:
    """Return why a step of the submission does not run, or "" if all of it is written."""
    if step.id in submission.refused:
        return submission.refused[step.id].rstrip(".")
    if step.id not in submission.sources:
        return f"you have no {step.filename}"
    return "yours is not written yet" if is_unfinished(submission.sources[step.id], step) else ""


def right_modules(registry: Registry) -> dict[str, tuple[str, str]]:
    """Return the solutions as modules of a program; {} if there are none."""
    return {name: (text, f"<{name}>") for name, text in solutions(registry).items()}


@contextlib.contextmanager
def worker_with(host: Host, program: Program, what: str) -> Iterator[Worker]:
    """Yield a worker that has loaded the program. what: the functions needed, in words.

    Raise NotReady, at any time, if something goes wrong in it.
    """
    worker = Worker(host, time.monotonic() + host.limits.step_seconds, watched=True)
    try:
        worker.load(program)
        yield worker
    except CallFailed as failure:
        raise explain_failure(failure, what, program) from None
    finally:
        with contextlib.suppress(OSError):
            worker.close()


def explain_failure(failure: CallFailed, what: str, program: Program) -> NotReady:
    """Return a call's outcome as a problem. what: the functions needed, in words."""
    return NotReady(_why(failure, what) + _say_where(failure, program))


def _say_where(failure: CallFailed, program: Program) -> str:
    """Return a sentence on the learner's own line that took too long, if it is known."""
    files = program.sources.values()
    texts = {file: text for text, file in files if isinstance(text, str) and file.startswith(OWN)}
    places = failure.places if isinstance(failure, TimedOut) else ()
    for file, line in places:
        if file in texts:
            return find_loop(texts[file], line, file.removeprefix(OWN))
    return ""


def _why(failure: CallFailed, what: str) -> str:
    """Return a call's outcome in a sentence."""
    if isinstance(failure, Raised):
        place = failure.innermost
        where = f" line {place[1]} of {place[0]}" if place else ""
        text = (
            failure.text.removeprefix(f"{place[0]}, line {place[1]}: ") if place else failure.text
        )
        if "NotImplementedError" in failure.kinds:
            step = where or " a step that it stands on"
            return f"{what} cannot run yet:{step} is still to be written."
        if "MemoryError" in failure.kinds:
            return f"{what} asked for more memory than there is{where and ' in' + where}."
        raised = f"{what} raised {failure.type}{where and ' in' + where}"
        says = explain(failure, Lengths((), (), visible=True)) if "gufunc" in failure.text else ""
        return f"{raised}. {says}" if says else f"{raised}: {text}"
    if isinstance(failure, TimedOut):
        return f"{what} took longer than {failure.seconds:g} seconds."
    return f"The process that ran {what} ended."
