"""Generate the self-study notebooks, one for each step, from the solutions.

A notebook consists of the lesson, the stubs, and cells that only a notebook has. These are a check
below each function, and the solution file's cells tagged `active-ipynb`, which appear in no other
product. A cell's id is made from its content, so the same text makes the same file.
"""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from grader.steps.paths import ROOT
from grader.steps.quiz import PREFACE, PREFACE_TEXT, questions
from grader.steps.registry import Registry, Step, load
from grader.steps.stubs import (
    FIGURE,
    find_defined,
    remove_solutions,
    solution_of,
    write_unless_worked_on,
)

NOTEBOOKS = ROOT / "notebooks"
BUILT = NOTEBOOKS / ".built.json"  # hashes of the notebooks as they were built
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
OPENING = """\
**How to work here.** Run the cell below first: select it and press Shift+Enter. Then read, and run
one cell after the other. Where it says *Write your code here*, write the function, run its cell,
and run the `check(…)` below it. That says whether the function is right and, if it is not, what its
numbers tell. `hint()` gives a hint, each time the next one; `status()` shows all steps.
Everything here is judged as `make check` judges your files."""
CLOSING = """\
## The whole step

`check()` looks at all of it, and at whether it works on top of your own earlier steps.
`save_work()` writes your functions to `exercises/{filename}`, where the later steps import them
from; a file that you had edited there, or that earned more points, is kept beside it.
`load_work()` brings that file here, if you have worked on it elsewhere."""
BEGIN = """\
from grader import look
from grader.notebook import case, check, hint, lesson, load_work, quiz, recap, review, save_work
from grader.notebook import status, write

lesson("{step}")"""
QUIZ = """\
## Questions

They earn no points. `quiz()` asks them. `quiz("{number}a", …)` takes your answer to the first one,
as a number, an array, a set or text, and says why it is right or wrong."""
CHECK = 'check("{function}")'
END = ["check()", "save_work()"]


def _name(text: str) -> str:
    """Return a cell's id from the first words of its first line."""
    words = re.findall(r"[a-z0-9]+", text.partition("\n")[0].lower())
    return "-".join(words[:6])[:48] or "cell"


def _markdown(text: str) -> Any:
    asked = re.sub(r"`make\s+quiz\s+STEP=(\d+[a-z])`", r'`quiz("\1", …)`', text)
    asked = re.sub(r"`make\s+quiz\s+STEP=(\d+)`", r'`quiz("\1")`', asked)
    return nbformat.v4.new_markdown_cell(asked, id=_name(text))


def _code(text: str, name: str) -> Any:
    return nbformat.v4.new_code_cell(text, id=name)


def _cells(step: Step, text: str) -> Iterator[Any]:
    first, *rest = jupytext.reads(remove_solutions(text), fmt="py:percent").cells
    title, _, text = first.source.partition("\n")
    yield _markdown(f"{title}\n\n{OPENING}")
    yield _code(BEGIN.format(step=step.id), "begin")
    yield _markdown(text.strip())
    for cell in rest:
        found = find_defined(cell.source, step) if cell.cell_type == "code" else []
        function = found[-1] if found else None
        if cell.cell_type == "markdown":
            yield _markdown(cell.source)
        else:
            yield _code(cell.source, function.name if function else _name(cell.source))
        if function and function.checks:
            yield _code(CHECK.format(function=function.name), f"check-{function.name}")
    if questions(step):
        yield _markdown(QUIZ.format(number=step.number))
        yield _code("quiz()", "quiz")
    yield _markdown(CLOSING.format(filename=step.filename))
    for text in END:
        yield _code(text, _name(text))
    steps = [PREFACE, *load().steps]
    at = [one.id for one in steps].index(step.id)
    links = [f"Before: {link_notebook(steps[at - 1])}"]
    links += [f"Next: {link_notebook(one)}" for one in steps[at + 1 : at + 2]]
    yield _markdown(" · ".join(links))


def link_notebook(step: Step) -> str:
    """Return the link by which another notebook names this one."""
    return f"[Step {step.number}, {step.title}]({step.id}.ipynb)"


def _write(cells: Iterable[Any], step: Step) -> str:
    """Return a notebook's file. Ids are distinct; only a function's own cell has its plain name."""
    seen: Counter[str] = Counter()
    names = {function.name for function in step.functions}
    found = []
    for cell in cells:
        if cell.id in names and cell.cell_type != "code":  # a heading that is the name
            cell.id = f"about-{cell.id}"
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell.id = f"{cell.id}-{seen[cell.id]}"
        found.append(cell)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    book = nbformat.v4.new_notebook(cells=found, metadata=metadata)
    book.nbformat_minor = 5
    nbformat.validate(book)
    return str(nbformat.writes(book)) + "\n"


def notebook(step: Step, text: str) -> str:
    """Return the step's notebook file."""
    return _write(_cells(step, text), step)


def _with_figures(text: str) -> Any:
    """Return a cell that brings its figures along, on white: a picture has no theme."""
    attachments = {}

    def attach(found: re.Match[str]) -> str:
        images = []
        for path in sorted(PREFACE_TEXT.parent.glob(f"{found[1]}*.svg")):
            drawn = path.read_text(encoding="utf-8")
            title = drawn.partition('aria-label="')[2].partition('"')[0]
            drawn = drawn.replace('style="', 'style="background:white;color:black;', 1)
            attachments[path.name] = {"image/svg+xml": base64.b64encode(drawn.encode()).decode()}
            images.append(f"![{title}](attachment:{path.name})")
        return " ".join(images) + "\n"

    cell = _markdown(FIGURE.sub(attach, text).strip())
    return nbformat.from_dict({**cell, "attachments": attachments}) if attachments else cell


def preface_notebook(text: str) -> str:
    """Return the notebook of step 0: its sections, and its questions."""
    first, *rest = (one.strip() for one in text.split("\n## "))
    cells = [_markdown(first), *(_with_figures(f"## {one}\n") for one in rest)]
    cells += [_markdown(QUIZ.format(number=PREFACE.number))]
    cells += [_code(f'from grader.notebook import quiz\n\nquiz("{PREFACE.number}")', "quiz")]
    cells += [_markdown(f"Next: {link_notebook(load().steps[0])}")]
    return _write(cells, PREFACE)


def notebooks(registry: Registry) -> dict[Path, str]:
    """Return all notebooks by path, that of step 0 first."""
    found = {
        NOTEBOOKS / f"{step.id}.ipynb": notebook(step, solution_of(step)) for step in registry.steps
    }
    preface = preface_notebook(PREFACE_TEXT.read_text(encoding="utf-8"))
    return {NOTEBOOKS / f"{PREFACE.id}.ipynb": preface, **found}


def build_notebooks(registry: Registry) -> list[Path]:
    """Write the notebooks that are out of date; keep one that was worked on beside the new one."""
    return write_unless_worked_on(notebooks(registry), BUILT)
