"""Read the solutions, and make the stubs from them."""

import ast
import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path

from grader.steps.paths import EXERCISES, PACKAGE, SOLUTIONS
from grader.steps.registry import Function, KitError, Registry, Step

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
CELL = "# %%"  # with which the line above a cell begins
# A figure of step 0, and the copy in plain text that stands below it.
FIGURE = re.compile(r"<!-- figure (\S+) -->\n+((?: {4}.*\n)+)")
# As every lesson has it in its head: `# - ` begins an item, and `#   ` goes on with it.
ABILITIES = re.compile(r"^# \*\*After this you can\*\*\n#\n((?:# (?:- |  ).*\n)+)", re.MULTILINE)
SELF_STUDY = "active-ipynb"  # the tag of cells to look at, which are for notebooks to learn from


class BuildError(KitError):
    """Report that nothing can be built from a solution or a check."""


def solution_of(step: Step) -> str:
    """Return the text of the step's solution, in percent cells."""
    return (SOLUTIONS / step.filename).read_text(encoding="utf-8")


def solutions(registry: Registry) -> dict[str, str]:
    """Return the steps whose solution the kit has; a student's bundle has none."""
    paths = {step.id: SOLUTIONS / step.filename for step in registry.steps}
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.is_file()}


def find_defined(source: str, step: Step) -> list[Function]:
    """Return the step's functions that a cell defines, in the step's order."""
    return [function for function in step.functions if f"\ndef {function.name}(" in f"\n{source}"]


def split_cells(text: str) -> list[str]:
    """Return the cells of a percent file; text above the first mark is a cell, too."""
    above, *cells = f"\n{text}".split(f"\n{CELL}")
    first = [] if text.startswith(CELL) else [above[1:]]
    return [*first, *(f"{CELL}{cell}" for cell in cells)]


def without_figures(text: str) -> str:
    """Return a text without its figures; a copy in plain text stands below each of them."""
    return FIGURE.sub(r"\2", text)


def without_self_study(solution: str) -> str:
    """Return the file without its notebook-only cells, tagged `active-ipynb`."""
    cells = split_cells(solution)
    heads = [cell.partition("\n")[0] for cell in cells]
    kept = [
        cell
        for cell, head in zip(cells, heads)
        if not (head.startswith(CELL) and SELF_STUDY in head)
    ]
    return solution if kept == cells else "\n".join(kept).rstrip("\n") + "\n"


def stub(solution: str) -> str:
    """Return the student's file: the lesson without self-study cells and solutions."""
    return remove_solutions(without_self_study(solution))


def remove_solutions(solution: str) -> str:
    """Return the text with a request in place of the lines between the solution marks."""
    if solution.count(BEGIN) != solution.count(END):
        raise BuildError("a solution mark has no partner")
    kept: list[str] = []
    inside = False
    for line in solution.split("\n"):
        mark = line.lstrip()
        if mark == BEGIN and line != mark:
            indent = line[: -len(mark)]
            kept += [f"{indent}# Write your code here.", f"{indent}raise NotImplementedError()"]
        inside = (inside or mark == BEGIN) and mark != END
        if not inside and mark != END:
            kept.append(line)
    return "\n".join(kept)


def keep_aside(path: Path) -> Path | None:
    """Rename a file to the first free `name.py.1.bak`, so that no work is lost.

    Return its new path, or None if there was no file.
    """
    if not path.exists():
        return None
    numbers = (path.with_name(f"{path.name}.{i}.bak") for i in itertools.count(1))
    return path.rename(next(other for other in numbers if not other.exists()))


def stub_of(step: Step) -> str:
    """Return the step's stub, which a student's bundle stores, or "" if there is no source."""
    ready = PACKAGE / "stubs" / step.filename
    path = ready if ready.is_file() else SOLUTIONS / step.filename
    return stub(path.read_text(encoding="utf-8")) if path.is_file() else ""


def find_abilities(lesson: str) -> list[str]:
    """Return the items below "After this you can"; none if the lesson has no such list."""
    found = ABILITIES.search(lesson)
    text = re.sub(r"\n#  +", " ", found[1]) if found else ""
    return [line[4:].rstrip(",. ") for line in text.splitlines()]


def reset(step: Step) -> Path | None:
    """Put the stub back. Return where the old file is now, or None if nothing was kept."""
    path = EXERCISES / step.filename
    text = stub_of(step)
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") == text:
        return None
    kept = keep_aside(path)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return kept


def text_hash(text: str) -> str:
    """Return the hash by which an unchanged stub is recognised."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_unless_worked_on(texts: Mapping[Path, str], record: Path) -> list[Path]:
    """Write the files that are out of date, but keep aside those that somebody has worked on.

    record: the file with the hashes of built files.
    """
    built = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    written = []
    for path, text in texts.items():
        old = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
        if old == text and built.get(path.name) == text_hash(text):
            continue
        if old not in (None, text) and built.get(path.name) != text_hash(old or ""):
            keep_aside(path)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        built[path.name] = text_hash(text)
        written.append(path)
    if written:
        record.write_text(json.dumps(built, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return written


def list_solutions(step: Step) -> list[tuple[str, str]]:
    """Return the kit's code for each function of a step, by name, without docstrings."""
    tree = ast.parse(solution_of(step))
    lines = solution_of(step).split("\n")
    names = {function.name for function in step.functions}
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            has_text = ast.get_docstring(node) is not None
            begin = (node.body[0].end_lineno or 0) if has_text else node.body[0].lineno - 1
            head = lines[node.lineno - 1].removeprefix(f"def {node.name}")
            body = [line for line in lines[begin : node.end_lineno] if BEGIN not in line]
            found.append((node.name, "\n".join([head, *body])))
    return found
