"""Write the skeleton of a new step: its files, and its entries in the files of all steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from keyword import iskeyword
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.authoring import step_files as files
from grader.authoring.guide_findings import find_range
from grader.authoring.lesson_findings import cut_map, with_step_in_map
from grader.report.files import write_whole
from grader.steps.registry import Part, Registry

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
COMPUTED = "abcd"  # the skeleton's questions whose answers are computed
OPEN = "e"
Edit = tuple[str, Path, Callable[[str], str]]


class SkeletonError(Exception):
    """The step cannot be created; the text says why."""


def write_entries(
    registry: Registry, number: int, name: str, title: str, render: Callable[[str], str]
) -> Iterator[tuple[str, Path]]:
    """Write the entries; yield the description and the path of each file that was changed.

    The step goes to the end of the last part. render: fills in a template of the skeleton.
    """
    for what, path, edit in _list_edits(registry, number, name, title, render):
        text = files.read_text(path)
        if (new := edit(text)) != text:
            write_whole(path, [new])
            yield what, path


def _list_edits(
    registry: Registry, number: int, name: str, title: str, render: Callable[[str], str]
) -> Iterator[Edit]:
    part = find_last_part(registry)
    reference, hints = render("reference.py.jinja"), render("bottom_hints.toml.jinja")
    yield (
        f"`{name}` in torch, at the end",
        files.REFERENCE / "reference.py",
        lambda t: t + reference,
    )
    yield f"the last two hints of `{name}`, at the end", files.BOTTOM, lambda t: t + hints
    yield "KEYS, the computed answers", files.KEYS, lambda text: _with_keys(text, number)
    yield (
        "the row and the range of the step",
        files.STUDENT,
        lambda text: _with_row(_with_range(text, part, number), number, name),
    )
    yield (
        "the range of the part",
        files.PREFACE_TEXT,
        lambda text: _with_last_row(text, registry, number),
    )
    words = f"{number} {title.lower()}"
    for step in registry.of(part):
        path = files.SOLUTIONS / step.filename
        yield "the map of the course", path, lambda text: with_step_in_map(text, part, words)


def find_last_part(registry: Registry) -> Part:
    """Return the part of the last step."""
    return next(part for part in registry.parts if part.number == registry.steps[-1].part)


def draw_map(registry: Registry, number: int, title: str) -> str:
    """Return the map of the course for the new lesson, from that of the last one."""
    text = cut_map(files.read_text(files.SOLUTIONS / registry.steps[-1].filename))
    plain = re.sub(r"\[(\d+[^\]]*)\]", r"\1", text)
    return with_step_in_map(plain, find_last_part(registry), f"[{number} {title.lower()}]")


def _with_keys(text: str, number: int) -> str:
    """Return the test of the questions with computed answers for the skeleton's."""
    lines = [f'    "{number}{letter}": lambda f: 0,  # TODO\n' for letter in COMPUTED]
    return re.sub(
        r"(?ms)^(KEYS = \{\n.*?)^\}$", lambda found: found[1] + "".join(lines) + "}", text
    )


def _with_row(text: str, number: int, name: str) -> str:
    """Return the students' guide with a row for the step after that of the step before."""
    row = f"| {number} | `{name}` | TODO: what the reader knows afterwards |\n"
    return re.sub(rf"(?m)^\| {number - 1} \| `.*\n", lambda found: found[0] + row, text, count=1)


def _with_range(text: str, part: Part, number: int) -> str:
    """Return the students' guide with a part that ends with this step."""
    old = find_range(text, part)
    new = re.sub(r"\d+$", str(number), old)
    return text.replace(f"({old})", f"({new})", 1) if old else text


def _with_last_row(text: str, registry: Registry, number: int) -> str:
    """Return the lesson of step 0 with the last row of its table ending with this step."""
    last = registry.steps[-1].number
    return re.sub(rf"(?m)^(\| \d+ to ){last} \|", rf"\g<1>{number} |", text, count=1)


def write_skeleton(registry: Registry, number: int, name: str) -> Iterator[tuple[str, Path]]:
    """Write the files of a new step; yield the description and the path of each.

    Raise SkeletonError, before anything is written, if there cannot be such a step.
    """
    step_id = f"step{number:02d}_{name}"
    paths = files.written_files(step_id)
    _refuse(registry, number, name, paths.values())
    title = name.replace("_", " ").capitalize()
    told = {"id": step_id, "number": number, "name": name, "title": title}
    told |= {"part": registry.steps[-1].part, "computed": COMPUTED, "open": OPEN}
    told |= {"map": draw_map(registry, number, title)}
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )

    def render(template: str) -> str:
        return templates.get_template(template).render(told)

    for what, path in paths.items():
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
