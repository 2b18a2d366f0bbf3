"""Name the files of a step, read them as text or parsed, and write those of a new step.

Nothing is imported.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.learner.hints import BOTTOM
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.paths import HIDDEN, PACKAGE, ROOT, SOLUTIONS, VISIBLE
from grader.steps.quiz import FOLDER as QUESTIONS
from grader.steps.quiz import PREFACE_TEXT
from grader.steps.registry import DATA, KitError, Registry, Step, read_toml

# The other modules that look for gaps take every path from here.
__all__ = ["BOTTOM", "DATA", "FAIR", "HIDDEN", "MISTAKES"]
__all__ += ["PREFACE_TEXT", "QUESTIONS", "SOLUTIONS", "VISIBLE"]

REFERENCE = PACKAGE / "answer_key"
KEYS = ROOT / "tests" / "integration" / "test_quiz.py"
STUDENT = ROOT / "docs" / "student.md"
TEMPLATES = Path(__file__).parent / "skeleton"  # each is named like the folder of its file


def written_files(step_id: str) -> dict[str, Path]:
    """Return the hand-written files of a step, each with its description."""
    return {
        "the lesson with its solution": SOLUTIONS / f"{step_id}.py",
        "what the step asks and what it is worth": DATA / f"{step_id}.toml",
        "the checks": VISIBLE / f"test_{step_id}.py",
        "the sizes of the hidden checks": HIDDEN / f"test_{step_id}.py",
        "the known mistakes": MISTAKES / f"{step_id}.py",
        "right code in other styles": FAIR / f"{step_id}.py",
        "the questions about its lesson": QUESTIONS / f"{step_id}.toml",
    }


def shared_files() -> tuple[Path, ...]:
    """Return the hand-written files that have an entry for every step."""
    return (*sorted(REFERENCE.glob("reference*.py")), BOTTOM, KEYS, STUDENT, PREFACE_TEXT)


def name(path: Path) -> str:
    """Return a file's path in the repository."""
    return path.relative_to(ROOT).as_posix()


def read_text(path: Path) -> str:
    """Return a file's text."""
    return path.read_text(encoding="utf-8")


def find_unreadable(step: Step) -> Iterator[tuple[Path, str]]:
    """Yield the files of a step that are missing, or that cannot be read, each with the reason."""
    written = written_files(step.id)
    for what, path in written.items():
        if not path.is_file():
            yield path, f"is missing: {what}"
    for path in filter(Path.is_file, (*written.values(), *shared_files())):
        try:
            if path.parent in (MISTAKES, FAIR):
                read(path.parent, step)
            elif path.suffix == ".py":
                parse(path)
            elif path.suffix == ".toml":
                load_toml(path)
        except SyntaxError as error:
            yield path, f":{error.lineno} cannot be read: {error.msg}"
        except (KitError, TypeError, ValueError) as error:
            yield path, f"cannot be read: {error}"


@cache
def parse(path: Path) -> ast.Module:
    """Return a parsed file. Raise SyntaxError if Python cannot read it."""
    return ast.parse(read_text(path), str(path))


@cache
def load_toml(path: Path) -> Mapping[str, Any]:
    """Return the contents of a TOML file. Raise ValueError if it cannot be read."""
    return read_toml(path)


def find_functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Return the functions at the left margin of a file, by name."""
    return {node.name: node for node in parse(path).body if isinstance(node, ast.FunctionDef)}


def read_keys(path: Path, variable: str) -> list[str]:
    """Return the keys that are plain strings of the dict that a file assigns to this variable."""
    for node in parse(path).body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Dict() as found) if name == variable:
                return [str(key.value) for key in found.keys if isinstance(key, ast.Constant)]
    return []


def read_questions(step: Step) -> list[Mapping[str, Any]]:
    """Return the questions of a step with their answers, as written."""
    entries: list[Mapping[str, Any]] = load_toml(QUESTIONS / f"{step.id}.toml").get("question", [])
    return entries


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
    paths = written_files(step_id)
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
        (f"`{name}` in torch, at the end", REFERENCE / "reference.py"),
        (f"the last two hints of `{name}`, at the end", BOTTOM),
    ):
        write_whole(path, [read_text(path), render(path.stem)])
        yield what, path
