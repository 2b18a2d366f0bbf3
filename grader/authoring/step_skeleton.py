"""Write the skeleton of a new step: every file that it needs, ready to be built and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.authoring.step_files import REFERENCE, written_files
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
    """Write the files of a new step; yield the description and the path of each."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SkeletonError(f"a step is called like a Python module: {name!r} is not a name")
    if any(step.number == number for step in registry.steps):
        raise SkeletonError(f"there is a step {number} already: {registry.find(str(number)).id}")
    functions = {function.name for step in registry.steps for function in step.functions}
    if name in functions:
        raise SkeletonError(f"there is a function {name} already: call the step something else")
    step_id = f"step{number:02d}_{name}"
    files = written_files(step_id)
    for path in files.values():
        if path.exists():
            raise SkeletonError(f"{path} is there already")
    title = name.replace("_", " ").capitalize()
    part = registry.steps[-1].part
    told = {"id": step_id, "number": number, "name": name, "title": title, "part": part}
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )
    for what, path in files.items():
        write_whole(path, [templates.get_template(NAMES[what]).render(told)])
        yield what, path
    path = REFERENCE / "reference.py"
    text = path.read_text(encoding="utf-8")
    write_whole(path, [text, templates.get_template("reference.py.jinja").render(told)])
    yield f"the reference, at its end: `{name}` in torch", path
