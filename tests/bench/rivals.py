"""nbgrader and otter on the same class: each in an environment of its own, made on first use.

Neither keeps a submission in: both run it with the rights of whoever grades, beside the checks.
"""

import ast
import builtins
import json
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import instructor
from students import Work
from timing import Spent, spent

from grader.steps.registry import Registry, Step

NOTEBOOK = "class"
WANTED = {
    "nbgrader": ["nbgrader==0.9.6", "ipykernel", "numpy"],
    "otter": ["otter-grader==7.0.0", "ipykernel", "numpy"],
}


class NotThere(Exception):
    """The tool cannot be installed or does not run; the text says why."""


def environment_of(tool: str) -> Path:
    """The tool's virtual environment, in the user's cache; NotThere if it cannot be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "nopeek-bench" / tool
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(WANTED[tool]):
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", *WANTED[tool]])
        stamp.write_text(" ".join(WANTED[tool]))
    return folder


def _run(command: Sequence[str], cwd: Path | None = None, **variables: str) -> Spent:
    done = spent(command, cwd, variables)
    if done.status:
        raise NotThere(f"{Path(command[0]).name} failed: {done.last_line}")
    return done


def _variables(folder: Path, tool: Path) -> dict[str, str]:
    """Return the variables that keep Jupyter's files out of the user's home."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    return {
        **{name: str(folder / "jupyter" / name) for name in names},
        **dict.fromkeys(threads, "1"),
        "PATH": f"{tool / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }


# Notebooks.


def _cell(source: str, **nbgrader: Any) -> dict[str, Any]:
    """A code cell; with the metadata of schema 3 if it is one of nbgrader's."""
    metadata = {"nbgrader": {"schema_version": 3, "task": False, **nbgrader}} if nbgrader else {}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": str(nbgrader.get("grade_id", "plain")),
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def _notebook(cells: Sequence[Mapping[str, Any]]) -> str:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps({**notebook, "nbformat_minor": 5})


def _inlined(source: str) -> str:
    """A step as a cell: what it imports from other steps is defined in the cells above."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("exercises"):
            assert node.end_lineno is not None
            indent = lines[node.lineno - 1][: node.col_offset]
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = ""
            lines[node.lineno - 1] = f"{indent}pass"
    return "\n".join(lines)


Tests = Mapping[str, Mapping[str, str]]
"""Test code by step and function."""


def tests_of(registry: Registry, steps: Sequence[Step]) -> Tests:
    """The instructor's tests of these steps."""
    return {step.id: instructor.tests_of(registry, step) for step in steps}


def _nbgrader_notebook(work: Work, tests: Tests) -> str:
    cells = []
    for step, source in work.items():
        solved = {"grade": False, "solution": True, "locked": False, "grade_id": step}
        cells.append(_cell(_inlined(source), **solved))
        for function, test in tests[step].items():
            graded = {"grade": True, "solution": False, "locked": True, "points": 1}
            cells.append(_cell(test, **graded, grade_id=f"{function}_test"))
    return _notebook(cells)


# The tools.

Failed = dict[str, int]
"""How many of the instructor's tests each student failed."""


def nbgrader(everyone: Mapping[str, Work], tests: Tests, folder: Path) -> tuple[Spent, Failed]:
    """Return the time of `nbgrader autograde` for the class."""
    tool = environment_of("nbgrader")
    folder.mkdir(parents=True)
    variables = _variables(folder, tool)
    (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    blank = dict.fromkeys(tests, "### BEGIN SOLUTION\n### END SOLUTION")
    _notebook_at(folder / "source" / "bench", _nbgrader_notebook(blank, tests))
    command = [str(tool / "bin" / "nbgrader")]
    _run([*command, "generate_assignment", "bench", "--create"], folder, **variables)
    for name, work in everyone.items():
        _notebook_at(folder / "submitted" / name / "bench", _nbgrader_notebook(work, tests))
    took = _run([*command, "autograde", "bench", "--create"], folder, **variables)
    return took, {name: _errors(folder / "autograded" / name / "bench") for name in everyone}


def _notebook_at(folder: Path, notebook: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"{NOTEBOOK}.ipynb").write_text(notebook)


def _errors(folder: Path) -> int:
    """Return how many test cells of a graded notebook hold an error."""
    cells = json.loads((folder / f"{NOTEBOOK}.ipynb").read_text())["cells"]
    tests = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]
    assert tests, "nbgrader has lost the tests"
    return sum(any(o["output_type"] == "error" for o in cell["outputs"]) for cell in tests)


def _otter_test(function: str, test: str) -> str:
    """A test file of otter's: one function, which asks for the names it calls."""
    called = {node.func for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Call)}
    names = {name.id for name in called if isinstance(name, ast.Name)}
    wanted = ", ".join(sorted(names - {"alike"} - set(dir(builtins))))
    body = "\n".join(f"    {line}" for line in test.split("\n"))
    return (
        "from otter.test_files import test_case\nOK_FORMAT = False\n"
        f"name = {function!r}\npoints = 1\n\n@test_case(points=1, hidden=False)\n"
        f"def test_{function}({wanted}):\n{body}\n"
    )


def otter(everyone: Mapping[str, Work], tests: Tests, folder: Path) -> tuple[Spent, Failed]:
    """Return the time of `otter run`, which needs no containers, one process for each student."""
    tool = environment_of("otter")
    folder.mkdir(parents=True)
    variables = _variables(folder, tool)
    archive = folder / "autograder.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("otter_config.json", "{}")
        for functions in tests.values():
            for function, test in functions.items():
                file.writestr(f"tests/{function}.py", _otter_test(function, test))
    for name, work in everyone.items():
        _notebook_at(folder / name, _notebook([_cell(_inlined(text)) for text in work.values()]))
    took, failed = Spent(), {}
    for name in everyone:
        place = folder / name
        arguments = ["-a", str(archive), "-o", str(place), str(place / f"{NOTEBOOK}.ipynb")]
        command = [str(tool / "bin" / "otter"), "run", "--no-logo", *arguments]
        took += _run(command, place, **variables)
        found = json.loads((place / "results.json").read_text())["tests"]
        points = [test["score"] / test["max_score"] for test in found if test.get("max_score")]
        assert len(points) == sum(map(len, tests.values())), "otter has lost the tests"
        failed[name] = sum(share < 1 for share in points)
    return took, failed
