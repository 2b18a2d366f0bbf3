"""Choose the code that runs GPT-2: the student's steps, and solutions for missing ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.running import GPT2
from grader.engine import messages
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Raised, Worker
from grader.steps.commands import spell_command
from grader.steps.registry import Registry, Step

WANTED = GPT2.wanted
MODULE = "gpt2"
TRY_SECONDS = 20.0  # for a step to be imported, and for each of its functions to be tried


@dataclass(frozen=True)
class StepSource:
    """One step among those that run. why: what prevents the student's own from running, or ""."""

    step: Step
    why: str = ""

    @property
    def own(self) -> bool:
        """Return whether the step is the student's."""
        return not self.why


@dataclass(frozen=True)
class OwnCode:
    """The steps that run, in order, and their sources."""

    parts: tuple[StepSource, ...]
    sources: Mapping[str, tuple[str, str]] = field(repr=False)
    wanted: tuple[str, ...] = WANTED

    def program(self, registry: Registry) -> Program:
        """Return a module that has all the wanted functions, each from its step."""
        homes = find_wanted(registry, self.wanted).items()
        lines = [f"from exercises.{step.id} import {name}\n" for name, step in homes]
        return Program(MODULE, {**self.sources, MODULE: ("".join(lines), MODULE)})

    def alone(self, step: Step, right: Mapping[str, str]) -> OwnCode:
        """Return the submission with right code in every other step."""
        others = {part.step.id for part in self.parts} - {step.id}
        sources = {name: (right[name], f"<{name}>") for name in others}
        return replace(self, sources={**self.sources, **sources})


def find_wanted(registry: Registry, wanted: Sequence[str] = WANTED) -> dict[str, Step]:
    """Return the functions that are called, and the steps that define them.

    Raise Gpt2Error if no step defines one, because a bundle may hold only the first steps.
    """
    for name in wanted:
        if name not in registry.homes:
            raise Gpt2Error(f"{name} is in no step of this kit: the model cannot run here")
    return {name: registry.homes[name] for name in wanted}


def gather(
    host: Host,
    registry: Registry,
    submission: Submission,
    right: Mapping[str, str],
    wanted: tuple[str, ...] = WANTED,
) -> OwnCode:
    """Return the student's steps, or the kit's. Raise Gpt2Error if neither exists.

    Wrong steps are used as well, because the logits show whether they are right.
    """
    homes = list(find_wanted(registry, wanted).values())
    last = max(homes, key=registry.steps.index)
    parts: list[StepSource] = []
    modules = {name: (text, f"{name}.py") for name, text in submission.modules.items()}
    sources: dict[str, tuple[str, str]] = dict(modules)
    for step in (*registry.before(last), last):
        why = _unusable(host, submission, step, sources)
        if not why:
            sources[step.id] = (submission.sources[step.id], f"{step.id}.py")
        elif step.id in right:
            sources[step.id] = (right[step.id], f"<{step.id}>")
        parts.append(StepSource(step, why))
    texts = {name: submission.reachable(name) for name in submission.sources}
    texts |= {name: text for name, (text, file) in sources.items() if file[0] == "<"}
    needed = _find_reached(homes, parts, texts)
    for part in needed:
        if part.step.id not in sources:
            number = part.step.number
            raise Gpt2Error(
                f"step {number} is not there yet: {part.why}: `{spell_command('check', number)}`"
            )
    steps = {part.step.id: sources[part.step.id] for part in needed}
    return OwnCode(tuple(needed), {**modules, **steps}, wanted)


def _find_reached(
    homes: Sequence[Step], parts: Sequence[StepSource], texts: Mapping[str, str]
) -> list[StepSource]:
    """Return the steps that are called, and those that they import."""
    names = {step.id for step in homes}
    for part in reversed(parts):
        if part.step.id in names:
            text = texts.get(part.step.id, "")
            names |= {other.step.id for other in parts if other.step.id in text}
    return [part for part in parts if part.step.id in names]


def _unusable(
    host: Host, submission: Submission, step: Step, earlier: Mapping[str, tuple[str, str]]
) -> str:
    """Return what prevents a step from running, or "" if a trial run works.

    A stub raises NotImplementedError for any arguments. So each function is called with None for
    every argument. Real code may do anything with these.
    """
    if step.id in submission.refused:
        return submission.refused[step.id].rstrip(".")
    if step.id not in submission.sources:
        return f"you have no {step.filename}"
    source = submission.sources[step.id]
    program = Program(step.id, {**earlier, step.id: (source, f"{step.id}.py")})
    worker = Worker(host, time.monotonic() + TRY_SECONDS)
    try:
        names = worker.load(program)
        missing = [function.name for function in step.functions if function.name not in names]
        unwritten = missing or _find_unwritten(worker, step)
        if len(unwritten) == len(step.functions):
            return "yours is not written yet"
        verb = "are" if unwritten[1:] else "is"
        return f"{', '.join(unwritten)} {verb} not written yet" if unwritten else ""
    except CallFailed as failure:
        limits = replace(host.limits, call_seconds=TRY_SECONDS)
        told = messages.explain_not_loaded(failure, source, step, limits, visible=True)
        return told.rstrip(".")
    finally:
        worker.close()


def _find_unwritten(worker: Worker, step: Step) -> list[str]:
    found = []
    for function in step.functions:
        try:
            worker.call(function.name, [None] * len(function.takes), {}, opaque=(True,))
        except Raised as failure:
            if "NotImplementedError" in failure.kinds:
                found.append(function.name)
        except CallFailed:  # it ended or hung, so it is written
            break
    return found
