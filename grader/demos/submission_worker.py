"""Load a submission's functions into a worker, to be measured and drawn; nothing is judged here."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from grader.diagnosis.exceptions import Lengths, explain
from grader.engine.earlier_steps import find_below
from grader.engine.messages import find_loop
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Raised, TimedOut, Worker
from grader.isolation.survey import is_unfinished
from grader.report.problem import Problem
from grader.steps.commands import spell_command
from grader.steps.registry import Registry, Step
from grader.steps.stubs import solutions

OWN = "exercises/"  # how the names of the learner's own files begin; a solution's is in <>
ENTRY = "wanted"  # the module that has all wanted functions, each from its step


class NotReady(Problem):
    """The code cannot be measured; the text says why."""


def step_of(registry: Registry, function: str) -> Step:
    """Return the step that defines the function of that name. Raise NotReady if there is none."""
    if function not in registry.homes:
        raise NotReady(f"This kit has no step with {function}.")
    return registry.homes[function]


def program_of(registry: Registry, submission: Submission, steps: Sequence[Step]) -> Program:
    """Return the last of these steps, with the submission's modules, and right ones it lacks.

    Raise NotReady if one of these steps is missing, because they must be the submission's own.
    """
    for step in steps:
        if step.id in submission.refused:
            raise NotReady(submission.refused[step.id])
        if step.id not in submission.sources:
            raise NotReady(f"There is no {step.filename} in {submission.id}.")
    return Program(steps[-1].id, {**right_modules(registry), **submission.texts()})


def right_modules(registry: Registry) -> dict[str, tuple[str, str]]:
    """Return the solutions as modules of a program; {} if there are none."""
    return {name: (text, f"<{name}>") for name, text in solutions(registry).items()}


def gather(
    registry: Registry, submission: Submission, right: Mapping[str, str], wanted: Sequence[str]
) -> tuple[dict[Step, str], Program]:
    """Return the steps that run and their program: the student's, or the kit's for missing ones.

    Beside each step is what prevents the student's own from running, or "". Raise Problem if there
    is neither. Wrong steps are used as well, because the logits show whether they are right.
    """
    homes = {name: step_of(registry, name) for name in wanted}
    whys = {step: _say_unusable(submission, step) for step in registry.steps}
    own = {step.id: submission.sources[step.id] for step, why in whys.items() if not why}
    mixed, needed = replace(submission, sources={**right, **own}), {*homes.values()}
    for home in homes.values():
        needed |= {*find_below(mixed, home, registry)}
    mine, parts = submission.texts(), {step: why for step, why in whys.items() if step in needed}
    sources = {name: mine[name] for name in submission.modules}
    for step, why in parts.items():
        if why and step.id not in right:
            look = spell_command("check", step.number)
            raise Problem(f"step {step.number} is not there yet: {why}: `{look}`")
        sources[step.id] = (right[step.id], f"<{step.id}>") if why else mine[step.id]
    lines = [f"from exercises.{step.id} import {name}\n" for name, step in homes.items()]
    return parts, Program(ENTRY, {**sources, ENTRY: ("".join(lines), ENTRY)})


def _say_unusable(submission: Submission, step: Step) -> str:
    """Return why a step of the submission does not run, or "" if all of it is written."""
    if step.id in submission.refused:
        return submission.refused[step.id].rstrip(".")
    if step.id not in submission.sources:
        return f"you have no {step.filename}"
    return "yours is not written yet" if is_unfinished(submission.sources[step.id], step) else ""


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
    if isinstance(failure, Raised):
        return NotReady(_say_raised(failure, what))
    if not isinstance(failure, TimedOut):
        return NotReady(f"The process that ran {what} ended.")
    files = program.sources.values()
    texts = {file: text for text, file in files if isinstance(text, str) and file.startswith(OWN)}
    loops = (  # the learner's own line
        find_loop(texts[file], (line,), file.removeprefix(OWN))
        for file, line in failure.places
        if file in texts
    )
    return NotReady(f"{what} took longer than {failure.seconds:g} seconds.{next(loops, '')}")


def _say_raised(failure: Raised, what: str) -> str:
    """Return a sentence on an exception."""
    where, text = "", failure.text
    if failure.innermost:
        file, line = failure.innermost
        where, text = f" line {line} of {file}", text.removeprefix(f"{file}, line {line}: ")
    if "NotImplementedError" in failure.kinds:
        return (
            f"{what} cannot run yet:{where or ' a step that it stands on'} is still to be written."
        )
    if "MemoryError" in failure.kinds:
        return f"{what} asked for more memory than there is{where and ' in' + where}."
    says = explain(failure, Lengths((), (), visible=True)) if "gufunc" in failure.text else ""
    raised = f"{what} raised {failure.type}{where and ' in' + where}"
    return f"{raised}. {says}" if says else f"{raised}: {text}"
