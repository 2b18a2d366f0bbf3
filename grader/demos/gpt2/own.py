"""Choose the code that runs a model: the student's steps, and solutions for missing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.demos.gpt2.problems import Gpt2Error
from grader.intake.submission import Submission
from grader.isolation.client import Program
from grader.isolation.survey import is_unfinished
from grader.steps.commands import spell_command
from grader.steps.registry import Registry, Step

MODULE = "gpt2"


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
    wanted: tuple[str, ...]

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


def find_wanted(registry: Registry, wanted: Sequence[str]) -> dict[str, Step]:
    """Return the functions that are called, and the steps that define them.

    Raise Gpt2Error if no step defines one, because a bundle may hold only the first steps.
    """
    for name in wanted:
        if name not in registry.homes:
            raise Gpt2Error(f"{name} is in no step of this kit: the model cannot run here")
    return {name: registry.homes[name] for name in wanted}


def gather(
    registry: Registry, submission: Submission, right: Mapping[str, str], wanted: tuple[str, ...]
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
        why = _say_unusable(submission, step)
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


def _say_unusable(submission: Submission, step: Step) -> str:
    """Return why a step of the student's does not run, or "" if all of it is written."""
    if step.id in submission.refused:
        return submission.refused[step.id].rstrip(".")
    if step.id not in submission.sources:
        return f"you have no {step.filename}"
    return "yours is not written yet" if is_unfinished(submission.sources[step.id], step) else ""


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
