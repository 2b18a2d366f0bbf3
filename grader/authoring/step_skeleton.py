"""Write the skeleton of a new step: its files, and its entries in the reference and the hints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.authoring import step_files as files
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.registry import Registry

TEMPLATES = Path(__file__).parent / "skeleton"
# Of the files in `written_files`, in that order.
NAMES = (
    "solution.py",
    "step.toml",
    "visible.py",
    "hidden.py",
    "mistakes.py",
    "fair.py",
    "questions.toml",
)


def write_skeleton(registry: Registry, number: int, name: str) -> Iterator[tuple[str, Path]]:
    """Write the files of a new step; yield the description and the path of each.

    Raise Problem, before anything is written, if there cannot be such a step.
    """
    step_id = f"step{number:02d}_{name}"
    paths = files.written_files(step_id)
    _refuse(registry, number, name, paths.values())
    told = {"id": step_id, "number": number, "name": name, "part": registry.steps[-1].part}
    told |= {"title": name.replace("_", " ").capitalize(), "computed": "abcd", "open": "e"}
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )

    def render(template: str) -> str:
        return templates.get_template(f"{template}.jinja").render(told)

    for (what, path), template in zip(paths.items(), NAMES, strict=True):
        write_whole(path, [render(template)])
        yield what, path
    reference = files.REFERENCE / "reference.py"
    write_whole(reference, [files.read_text(reference), render("reference.py")])
    yield f"`{name}` in torch, at the end", reference
    write_whole(files.BOTTOM, [files.read_text(files.BOTTOM), render("bottom_hints.toml")])
    yield f"the last two hints of `{name}`, at the end", files.BOTTOM


def _refuse(registry: Registry, number: int, name: str, paths: Iterable[Path]) -> None:
    """Raise Problem if the number, the name or a file is taken, or the name is not one."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name):
        raise Problem(f"a step is called like a Python module: {name!r} is not a name")
    if any(step.number == number for step in registry.steps):
        raise Problem(f"there is a step {number} already: {registry.find(str(number)).id}")
    if number != registry.steps[-1].number + 1:
        raise Problem(f"the next step is {registry.steps[-1].number + 1}, not {number}")
    if name in registry.homes:
        raise Problem(f"there is a function {name} already: call the step something else")
    for path in paths:
        if path.exists():
            raise Problem(f"{path} is there already")
