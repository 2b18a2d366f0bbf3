"""Who may import whom: the table of the design, as a test."""

import ast
from pathlib import Path

import pytest

from .conftest import ROOT

LAYERS = [
    {"records"},
    {"registry", "submission", "inputs", "protocol"},
    {"sandbox", "client", "reference", "compare", "student", "laws", "messages", "given"},
    {"examiner", "recording", "grading", "building", "variants", "proof", "terminal"}
    | {"page", "grids"}
    | {"hints", "diagnosis", "replay", "parallel", "watch"}
    | {"naming", "figures"},
    {"cli"},
    {"__main__"},
]
RENDERERS = {"grids", "page", "terminal"}


def imported(path: Path) -> set[str]:
    """The full names of all that a file imports, at the top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own(path: Path) -> set[str]:
    """The modules of the grader that it imports."""
    parts = [name.split(".") for name in imported(path)]
    return {part[1] for part in parts if part[0] == "grader" and len(part) > 1} - {"__version__"}


MODULES = sorted(path for path in (ROOT / "grader").glob("*.py") if path.stem != "__init__")
CHECKS = sorted((ROOT / "tests" / "visible").glob("*.py")) + sorted(
    (ROOT / "tests" / "hidden").glob("*.py")
)


def layer(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if module in names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_imports_nothing_above_it(path):
    if path.stem == "worker":
        return
    assert [name for name in own(path) if layer(name) > layer(path.stem)] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_torch_is_imported_by_the_reference_only(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert ("torch" in roots) == (path.stem == "reference")


def test_worker_stands_alone():
    path = ROOT / "grader" / "worker.py"
    assert own(path) == set()
    importers = [other.name for other in MODULES if "worker" in own(other)]
    assert importers == []


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_checks_know_neither_solutions_nor_reference(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots <= {"numpy", "grader", "tests"}
    allowed = {"laws", "inputs", "compare", "protocol", "client", "records"}
    assert own(path) <= allowed


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_renderers_see_records_only(name):
    assert own(ROOT / "grader" / f"{name}.py") <= {"records", "grids"}
