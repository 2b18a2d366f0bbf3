"""Provide functions for the test cells of an assignment, in the student's or author's kernel.

`check("softmax")` asks a judge in a process of its own, as `check()` does in self-study. Nothing
that happens in a kernel counts for a grade.

Importing this module also makes the earlier steps importable. `exercises.step01_projections` is the
notebook of that step beside this one, as in a course's assignments. If there is none, it is the
kit's exercise.
"""

import atexit
import functools
import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.intake import notebooks
from grader.intake.notebooks import MAX_NOTEBOOK
from grader.intake.submission import SubmissionError
from grader.isolation.worker.notebook import Guide, run
from grader.notebooks.session import JudgeError, KernelJudge
from grader.report.records import Status
from grader.steps import paths
from grader.steps.registry import Registry, Step, load


class ChecksFailed(AssertionError):
    """Visible checks failed. The text is one line; the notebook shows the full report."""

    def __init__(self, sentence: str, report: str = "") -> None:
        super().__init__(sentence)
        self.report = report

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython shows instead of a traceback."""
        return [line for line in (str(self), "", *self.report.strip("\n").split("\n")) if line]


def _other(step: Step, registry: Registry) -> str:
    """Return another step's source, from its notebook or the exercises, or "" without one.

    nbgrader has released its notebook beside this one.
    """
    beside = Path.cwd().parent / step.id / f"{step.id}.ipynb"
    try:
        with beside.open("rb") as file:
            found = notebooks.read(file.read(MAX_NOTEBOOK + 1), f"{step.id}.ipynb", registry)
        return found.sources[step.id]
    except (OSError, SubmissionError, KeyError):
        exercise = paths.EXERCISES / step.filename
        return exercise.read_text(encoding="utf-8") if exercise.is_file() else ""


def check(function: str) -> None:
    """Judge a function as this notebook defines it.

    Raise ChecksFailed unless all visible checks pass.
    """
    from IPython import get_ipython

    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise ChecksFailed("Nothing is graded in a kernel: use the nbgrader_config.py of the kit.")
    registry = load()
    step = registry.homes.get(function)
    if step is None:
        raise ChecksFailed(f"No step has a function {function!r}: the test cell was changed.")
    if (shell := get_ipython()) is None:
        raise ChecksFailed("check() is for notebooks: elsewhere run python -m grader check")
    for one in registry.before(step):
        (_judge().folder / one.filename).write_text(_other(one, registry), encoding="utf-8")
    texts = enumerate(shell.history_manager.input_hist_raw)
    runs = [(number, "", text) for number, text in texts if text]  # without ids of cells
    request = {"do": "judge", "about": function, "lesson": "", "runs": runs, "deleted": []}
    try:
        answer = _judge().ask(request)
    except JudgeError as error:
        raise ChecksFailed(str(error)) from None
    line, _, report = answer["text"].strip().partition("\n")
    said = line.partition(" ")[2]  # without its sign
    if answer["status"] != Status.PASSED.value:
        raise ChecksFailed(said, report)
    print(said)


@functools.cache
def _judge() -> KernelJudge:
    """Return the judge of this kernel, with a folder for the earlier steps."""
    folder = tempfile.TemporaryDirectory(prefix="nopeek-")
    atexit.register(folder.cleanup)
    return KernelJudge(Path(folder.name))


class _Steps(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A visitor that finds the steps a notebook imports."""

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, id = name.partition(".")
        if package != "exercises" or id not in ("", *(step.id for step in load().steps)):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=not id)

    def exec_module(self, module: ModuleType) -> None:
        _, _, id = module.__name__.partition(".")
        if id:
            source = _other(load().find(id), load())
            if not source:
                raise ImportError(f"{id} is neither beside this notebook nor in the exercises")
            run(source, f"<{id}>", module, Guide(), {})


if not any(isinstance(finder, _Steps) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Steps())
