"""Choose the code that runs a model: the student's steps, and solutions for missing ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from grader.demos.submission_worker import say_unusable, step_of
from grader.engine.earlier_steps import find_below
from grader.intake.submission import Submission
from grader.isolation.client import Program
from grader.report.problem import Problem
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
    """The steps that run, in order, and their sources. homes: the steps of what is called."""

    parts: tuple[StepSource, ...]
    sources: Mapping[str, tuple[str, str]] = field(repr=False)
    homes: Mapping[str, Step]

    @property
    def program(self) -> Program:
        """Return a module that has all the wanted functions, each from its step."""
        homes = self.homes.items()
        lines = [f"from exercises.{step.id} import {name}\n" for name, step in homes]
        return Program(MODULE, {**self.sources, MODULE: ("".join(lines), MODULE)})


def gather(
    registry: Registry, submission: Submission, right: Mapping[str, str], wanted: tuple[str, ...]
) -> OwnCode:
    """Return the student's steps, or the kit's. Raise Problem if neither exists.

    Wrong steps are used as well, because the logits show whether they are right.
    """
    homes = {name: step_of(registry, name) for name in wanted}
    last = max(homes.values(), key=registry.steps.index)
    parts = [
        StepSource(step, say_unusable(submission, step)) for step in (*registry.before(last), last)
    ]
    own = {part.step.id: submission.sources[part.step.id] for part in parts if part.own}
    mixed = replace(submission, sources={**right, **own})
    below = (find_below(mixed, home, registry) for home in homes.values())
    named = [*homes.values(), *chain.from_iterable(below)]
    needed = [part for part in parts if part.step in named]
    mine = submission.texts()
    sources = {name: mine[name] for name in submission.modules}
    for part in needed:
        name, number = part.step.id, part.step.number
        if not part.own and name not in right:
            look = spell_command("check", number)
            raise Problem(f"step {number} is not there yet: {part.why}: `{look}`")
        sources[name] = mine[name] if part.own else (right[name], f"<{name}>")
    return OwnCode(tuple(needed), sources, homes)
