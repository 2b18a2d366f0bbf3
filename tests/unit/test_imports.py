"""Test which code may import what, beyond the contract of rooms, and that names are distinct."""

import ast
import functools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT

GRADER = ROOT / "grader"
ROOMS = [path for path in sorted(GRADER.rglob("*.py")) if "mistakes" not in path.parts]
SUITES = (ROOT / "tests" / "visible", ROOT / "tests" / "hidden")
CHECKS = [p for suite in SUITES for p in sorted(suite.glob("*.py")) if p.name != "conftest.py"]
# Programs that are sent to a worker as text, and the worker program itself.
PROGRAMS = ["isolation/probe_program.py", "demos/counting.py", "demos/explorer/exploring.py"]
PROGRAMS += [f"isolation/worker/{path.name}" for path in (GRADER / "isolation/worker").glob("*.py")]
# What both sides use: the formats of values and of a notebook's text, and how a notebook is run.
SHARED = {f"isolation/worker/{name}.py" for name in ("cells", "codec", "notebook")}
TORCH = {
    "answer_key/reference.py",
    "answer_key/reference_training.py",
    "answer_key/reference_modern.py",
    "demos/gpt2/against.py",
    "testing/assertions.py",
}


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Return the full names of all that a file imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def own(path: Path) -> set[str]:
    """Return the modules of the grader that it imports, without what is taken from them."""
    names = (name.rpartition(".")[0] for name in imported(path) if name.startswith("grader."))
    return {name.removeprefix("grader").removeprefix(".") for name in names}


def is_in(module: str, *rooms: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def strangers(path: Path, *rooms: str) -> list[str]:
    """Return the modules of the grader that it imports from other rooms than these."""
    return [name for name in own(path) if not is_in(name, *rooms)]


def inside(path: Path) -> str:
    return path.relative_to(GRADER).as_posix()


def test_torch_is_imported_by_what_is_compared_with_only():
    """The reference, and transformers' GPT-2, which is the reference of the whole decoder."""
    users = {name: roots(GRADER / name) & {"torch", "transformers"} for name in map(inside, ROOMS)}
    assert {name for name, found in users.items() if "torch" in found} == TORCH
    compared = {name for name, found in users.items() if "transformers" in found}
    assert all(name.endswith("/against.py") for name in compared)


@pytest.mark.parametrize("name", ["notebook", "notebooks/session"])
def test_what_a_kernel_imports_is_light(name):
    """A learner's kernel may have IPython and nothing else that the kit needs."""
    path = GRADER / f"{name}.py"
    assert roots(path) - {"grader", "IPython"} <= sys.stdlib_module_names
    light = {"notebooks.session", "notebooks.display"}
    light |= {"steps.commands", "steps.paths"}
    # The last one is imported only once quiz() or lesson() is called.
    assert own(path) <= {*light, "notebooks.quiz_display"}


def test_files_are_generated_without_nbgrader():
    """`make build` does not install it."""
    rooms = ("assignments", "build", "figures", "guides", "lessons", "proof")
    imports = "".join(f"import grader.authoring.{room}\n" for room in rooms)
    code = f"import sys\nsys.modules['nbgrader'] = None\n{imports}"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_programs_of_a_worker_stand_alone():
    known = {name for path in ROOMS for name in imported(path)}
    for name in PROGRAMS:
        assert roots(GRADER / name) <= {*sys.stdlib_module_names, "numpy"}
        dotted = f"grader.{name.removesuffix('.py').replace('/', '.')}"
        assert name in SHARED or [one for one in known if is_in(one, dotted)] == []


def test_worker_imports_itself_by_the_names_that_it_has_in_a_sandbox():
    """There the package is `worker`; beyond its folder there is nothing."""
    for path in (GRADER / "isolation" / "worker").glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert {node.level for node in nodes if isinstance(node, ast.ImportFrom)} <= {0, 1}


def test_checks_know_neither_solutions_nor_reference():
    allowed = ("checks", "steps.inputs", "isolation.wire", "isolation.client", "report.records")
    for path in CHECKS:
        assert roots(path) - sys.stdlib_module_names <= {"numpy", "grader", "tests"}, path
        assert strangers(path, *allowed) == [], path
    path = GRADER / "checks" / "influence_inputs.py"
    assert roots(path) - sys.stdlib_module_names <= {"numpy", "grader"}
    assert strangers(path, "checks", "steps") == []


def test_exports_and_renderers_see_records_only():
    seen = ("report", "classroom.exports", "classroom.people", "intake.filenames")
    for path in (GRADER / "classroom" / "exports").glob("*.py"):
        assert strangers(path, *seen) == [], path
    for path in {*(GRADER / "report").rglob("*.py")} - {GRADER / "report" / "problem.py"}:
        assert strangers(path, "report") == [], path


def test_no_two_classes_have_one_name():
    classes = Counter(
        node.name
        for path in ROOMS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []
