"""Write the skeleton of a new step: its files, and its entries in the reference and the hints."""

import re
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.authoring import step_files as files
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.registry import Registry

TEMPLATES = Path(__file__).parent / "skeleton"  # each is named like the folder of its file


def write_skeleton(registry: Registry, name: str) -> Iterator[tuple[str, Path]]:
    """Write the files of the next step; yield the description and the path of each.

    Raise Problem, before anything is written, if the name is taken or cannot be one.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name):
        raise Problem(f"a step is called like a Python module: {name!r} is not a name")
    if name in registry.homes:
        raise Problem(f"there is a function {name} already: call the step something else")
    number = registry.steps[-1].number + 1
    step_id = f"step{number:02d}_{name}"
    paths = files.written_files(step_id)
    if there := [path for path in paths.values() if path.exists()]:
        raise Problem(f"{there[0]} is there already")
    told = {"id": step_id, "number": number, "name": name, "part": registry.steps[-1].part}
    told |= {"title": name.replace("_", " ").capitalize(), "computed": "abcd", "open": "e"}
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )

    def render(template: str) -> str:
        return templates.get_template(f"{template}.jinja").render(told)

    for what, path in paths.items():
        write_whole(path, [render(path.parent.name)])
        yield what, path
    for what, path in (
        (f"`{name}` in torch, at the end", files.REFERENCE / "reference.py"),
        (f"the last two hints of `{name}`, at the end", files.BOTTOM),
    ):
        write_whole(path, [files.read_text(path), render(path.stem)])
        yield what, path
