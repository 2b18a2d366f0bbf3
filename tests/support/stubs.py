"""The solutions, and the stubs as they are handed out: `exercises/` may have been worked on."""

import re
from collections.abc import Iterable
from pathlib import Path

from grader.steps import registry
from grader.steps.registry import Step
from grader.steps.stubs import BEGIN, END, solution_of, stub_of


def solution_text(step: str) -> str:
    """The solution of the step with that id."""
    return solution_of(registry.load().find(step))


def solution_lines(step: str) -> set[str]:
    """The lines between the marks of that solution, but for those too short to tell anything."""
    bodies = re.findall(rf"{BEGIN}\n(.*?){END}", solution_text(step), re.DOTALL)
    lines = (line.strip() for body in bodies for line in body.splitlines())
    return {line for line in lines if len(line) > 12}


def write_solutions(folder: Path, steps: Iterable[Step]) -> Path:
    """Writes the solutions of these steps into a folder, which may be there."""
    folder.mkdir(parents=True, exist_ok=True)
    for step in steps:
        (folder / step.filename).write_text(solution_of(step), encoding="utf-8")
    return folder


def stub_text(step: str) -> str:
    """The stub of the step with that id."""
    return stub_of(registry.load().find(step))


def write_stubs(folder: Path) -> Path:
    """Writes the stubs of all steps into a new folder."""
    folder.mkdir(parents=True)
    for step in registry.load().steps:
        (folder / step.filename).write_text(stub_of(step), encoding="utf-8")
    return folder
