"""Provide functions for the test cells of an assignment, in the student's or author's kernel.

`check("softmax")` runs the visible checks on the text of the notebook's cells, in processes of
their own, as `python -m grader check` does. Nothing that happens in a kernel counts for a grade.

Importing this module also makes the earlier steps importable. `exercises.step01_projections` is the
notebook of that step beside this one, as in a course's assignments. If there is none, it is the
kit's exercise.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.intake import notebooks
from grader.intake.notebooks import MAX_NOTEBOOK
from grader.intake.submission import SubmissionError
from grader.isolation.worker.cells import is_notebook
from grader.isolation.worker.notebook import Guide, run
from grader.notebooks.cards import only, wrong_of
from grader.notebooks.executions import Run, raw_cells, standing
from grader.report.records import Report, Status, StepVerdict, report_from_json
from grader.report.text.terminal import Printer
from grader.steps import paths
from grader.steps.registry import Registry, Step, load

BROKEN = "{where}: this is not valid Python. Fix it, and run the cell again."


class ChecksFailed(AssertionError):
    """Visible checks failed. The text is one line; the notebook shows the full report."""

    def __init__(self, sentence: str, report: str = "") -> None:
        super().__init__(sentence)
        self.report = report

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython shows instead of a traceback."""
        return [line for line in (str(self), "", *self.report.strip("\n").split("\n")) if line]


def _beside(step: Step) -> Path:
    """Return the path of another step's notebook, in the folders that nbgrader releases."""
    return Path.cwd().parent / step.id / f"{step.id}.ipynb"


def _other(step: Step, registry: Registry) -> str:
    """Return another step's source, from its notebook or the exercises, or "" without one."""
    try:
        with _beside(step).open("rb") as file:
            found = notebooks.read(file.read(MAX_NOTEBOOK + 1), f"{step.id}.ipynb", registry)
        return found.sources[step.id]
    except (OSError, SubmissionError, KeyError):
        exercise = paths.EXERCISES / step.filename
        return exercise.read_text(encoding="utf-8") if exercise.is_file() else ""


def _list_executed() -> list[Run]:
    """Return everything that this kernel has run, in order."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        raise ChecksFailed("check() is for notebooks: elsewhere run python -m grader check")
    texts = enumerate(shell.history_manager.input_hist_raw)
    return standing(Run(number, "", text) for number, text in texts)


def _judge(step: Step, sources: Mapping[str, str]) -> Report:
    """Return the report of the visible checks on one step. Raise ChecksFailed if there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder, report = Path(name), Path(name) / "report.json"
        for id, text in sources.items():
            (folder / f"{id}.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "grader", "check", step.id, "--submission", name]
        path = os.pathsep.join(
            filter(None, [str(paths.PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
        )
        done = subprocess.run(
            [*command, "--json", str(report)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if not report.is_file():
            words = done.stderr.decode(errors="replace").strip().split("\n")
            raise ChecksFailed(f"The checks could not be run: {words[-1]}")
        return report_from_json(report.read_text(encoding="utf-8"))


def _show(step: StepVerdict) -> str:
    """Return the text that `make check` shows for a step."""
    text = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    Printer(text).step(step)
    text.seek(0)
    return text.read()


def check(function: str) -> None:
    """Judge a function as this notebook defines it.

    Raise ChecksFailed unless all visible checks pass.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise ChecksFailed("Nothing is graded in a kernel: use the nbgrader_config.py of the kit.")
    registry = load()
    step = registry.homes.get(function)
    if step is None:
        raise ChecksFailed(f"No step has a function {function!r}: the test cell was changed.")
    found = notebooks.of_cells(raw_cells(_list_executed(), None), "", registry)
    if function in found.left_out:
        raise ChecksFailed(BROKEN.format(where=found.left_out[function]))
    if step.id not in found.sources:
        raise ChecksFailed(f"{function} is not defined: run its cell first.")
    earlier = {one.id: _other(one, registry) for one in registry.before(step)}
    (verdict,) = _judge(step, {**earlier, **found.sources}).steps
    mine = only(verdict, function)
    if mine.status is Status.NOT_ATTEMPTED:
        raise ChecksFailed(f"{function}: not attempted yet, 0 of {mine.max_points:g} points.")
    if mine.status is not Status.PASSED:
        bad = len(wrong_of(mine.checks))
        said = f"{function}: {bad} of {len(mine.checks)} visible checks failed."
        raise ChecksFailed(said, _show(mine))
    print(f"{function}: all {len(mine.checks)} visible checks pass, {mine.points:g} points.")


class _Steps(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A visitor that finds the steps a notebook imports."""

    PACKAGE = "exercises"

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == self.PACKAGE:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        package, _, id = name.partition(".")
        known = any(step.id == id for step in load().steps)
        if package != self.PACKAGE or not known:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == self.PACKAGE:
            return
        step = load().find(module.__name__.partition(".")[2])
        source = _other(step, load())
        if not source:
            raise ImportError(f"{step.id} is neither beside this notebook nor in the exercises")
        if is_notebook(source):
            run(source, f"<{step.id}>", module, Guide({}))
        else:
            exec(compile(source, f"<{step.id}>", "exec"), module.__dict__)


if not any(isinstance(finder, _Steps) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Steps())
