"""Notebooks executed in real kernels, in a home of their own."""

import contextlib
import os
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from grader.steps.registry import Step
from tests.conftest import ROOT
from tests.support.stubs import write_stubs

SETTINGS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def home(folder: Path) -> Path:
    """A folder with exercises to work on, and places for all that Jupyter writes."""
    write_stubs(folder / "exercises")
    return folder


def settings(folder: Path) -> dict[str, str]:
    """The variables with which Jupyter writes into that folder and finds nothing of the user's."""
    own = {name: str(folder / name.lower()) for name in SETTINGS}
    for path in own.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    return own


def variables(folder: Path) -> dict[str, str]:
    """The environment in which nothing outside that folder is written."""
    own = settings(folder / "jupyter")
    return {**os.environ, **own, "NOPEEK_HOME": str(folder), "PYTHONPATH": str(ROOT)}


def lesson(step: Step) -> nbformat.NotebookNode:
    """The step's notebook, as it is committed."""
    return nbformat.read(ROOT / "notebooks" / f"{step.id}.ipynb", as_version=4)


def solved(step: Step) -> nbformat.NotebookNode:
    """The same with the solutions written into it."""
    text = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
    cells = [c.source for c in jupytext.reads(text, fmt="py:percent").cells]
    notebook = lesson(step)
    for cell in notebook.cells:
        if cell.id in {function.name for function in step.functions}:
            cell.source = next(c for c in cells if f"\ndef {cell.id}(" in f"\n{c}")
    return notebook


def cells(*sources: str) -> nbformat.NotebookNode:
    """A notebook of these code cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])


def execute(
    notebook: nbformat.NotebookNode, cwd: Path, environment: dict[str, str], *, errors: bool
) -> None:
    """Executes it in a kernel in that folder; errors: they do not stop it."""
    before = dict(os.environ)
    os.environ.update(environment)
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=120, allow_errors=errors, resources={}
    )
    try:
        try:
            client.execute(cwd=str(cwd))
        except RuntimeError as error:
            if "before replying" not in str(error):
                raise
            client.execute(cwd=str(cwd))  # somebody had taken its port before the kernel could
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(notebook: nbformat.NotebookNode, folder: Path, *, errors: bool = False) -> list[list[str]]:
    """Executes it in a kernel; what each code cell showed as text."""
    execute(notebook, ROOT / "notebooks", variables(folder), errors=errors)
    return [
        [text_of(output) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def text_of(output: nbformat.NotebookNode) -> str:
    """What an output of a cell shows as text."""
    if output.output_type == "error":
        return "\n".join(output.traceback)
    with contextlib.suppress(AttributeError, KeyError):
        return str(output.data["text/plain"])
    return str(output.get("text", ""))


def joined(*notebooks: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """One notebook of the cells of several."""
    every = [cell for notebook in notebooks for cell in notebook.cells]
    for number, cell in enumerate(every):
        cell.id = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=every)
