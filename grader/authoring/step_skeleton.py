"""Write the skeleton of a new step: every file that it needs, ready to be built and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.authoring.step_entries import COMPUTED, OPEN, draw_map, write_entries
from grader.authoring.step_files import written_files
from grader.report.files import write_whole
from grader.steps.registry import Registry

TEMPLATES = Path(__file__).parent / "skeleton"
NAMES = {
    "the lesson with its solution": "solution.py.jinja",
    "what the step asks and what it is worth": "step.toml.jinja",
    "the checks": "visible.py.jinja",
    "the sizes of the hidden checks": "hidden.py.jinja",
    "the known mistakes": "mistakes.py.jinja",
    "right code in other styles": "fair.py.jinja",
    "the questions about its lesson": "questions.toml.jinja",
}


class SkeletonError(Exception):
    """The step cannot be created; the text says why."""


def write_skeleton(registry: Registry, number: int, name: str) -> Iterator[tuple[str, Path]]:
    """Write the files of a new step; yield the description and the path of each.

    Raise SkeletonError, before anything is written, if there cannot be such a step.
    """
    step_id = f"step{number:02d}_{name}"
    files = written_files(step_id)
    _refuse(registry, number, name, files.values())
    title = name.replace("_", " ").capitalize()
    told = {"id": step_id, "number": number, "name": name, "title": title}
    told |= {"part": registry.steps[-1].part, "computed": COMPUTED, "open": OPEN}
    told |= {"map": draw_map(registry, number, title)}
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )

    def render(template: str) -> str:
        return templates.get_template(template).render(told)

    for what, path in files.items():
        write_whole(path, [render(NAMES[what])])
        yield what, path
    yield from write_entries(registry, number, name, title, render)


def _refuse(registry: Registry, number: int, name: str, paths: Iterable[Path]) -> None:
    """Raise SkeletonError if the number, the name or a file is taken, or the name is not one."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name):
        raise SkeletonError(f"a step is called like a Python module: {name!r} is not a name")
    if any(step.number == number for step in registry.steps):
        raise SkeletonError(f"there is a step {number} already: {registry.find(str(number)).id}")
    if number != registry.steps[-1].number + 1:
        raise SkeletonError(f"the next step is {registry.steps[-1].number + 1}, not {number}")
    if name in registry.homes:
        raise SkeletonError(f"there is a function {name} already: call the step something else")
    for path in paths:
        if path.exists():
            raise SkeletonError(f"{path} is there already")
