"""Who may import whom: the table of the design, as a test."""

import ast
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

LAYERS = [
    {"records", "plain", "names", "files", "curves"},
    {"registry", "submission", "inputs", "protocol", "version", "influences", "intake"}
    | {"growth"},
    {"sandbox", "client", "reference", "compare", "student", "laws", "maps", "messages", "given"},
    {"properties", "crashes", "stacks", "blocks"},
    {"attempts", "probe", "examiner", "recording", "grading", "building", "variants", "proof"}
    | {"terminal", "page", "grids", "nests", "exports", "assignments"}
    | {"screen", "matrices", "sheet", "textmap", "asked"}
    | {"hints", "diagnosis", "replay", "parallel", "watch", "drawing", "naming", "figures"}
    | {"answers", "feeding"},
    {"loaded", "leaks", "costs", "stackmap", "growthplot", "pictures"},
    {"classroom", "gpt2"},
    {"problem"},
    {"hosting", "paths", "bundle"},
    {"selfstudy", "course"},
    {"notebook", "look"},
    {"cli_authors", "cli_gpt2", "cli_grade", "cli_lab", "cli_pictures", "cli_release"}
    | {"cli_reports"},
    {"cli"},
    {"__main__"},
]
RENDERERS = ["grids", "page", "terminal", "screen", "matrices", "sheet", "textmap", "nests"]
RENDERERS += ["classroom/overview", "classroom/summary", "stackmap", "growthplot", "pictures"]


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
PACKAGES = sorted(
    path
    for name in (
        "bundle",
        "classroom",
        "course",
        "exports",
        "gpt2",
        "intake",
        "laws",
        "maps",
        "properties",
        "sandbox",
        "selfstudy",
    )
    for path in (ROOT / "grader" / name).glob("*.py")
)
SANDBOX = sorted((ROOT / "grader" / "sandbox").glob("*.py"))
EXPORTS = sorted((ROOT / "grader" / "exports").glob("*.py"))
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


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_module_of_a_package_imports_nothing_above_the_package(path):
    above = [name for name in own(path) if layer(name) > layer(path.parent.name)]
    assert above == []


@pytest.mark.parametrize(
    "path", MODULES + PACKAGES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_torch_is_imported_by_what_is_compared_with_only(path):
    """The reference, and transformers' GPT-2, which is the reference of the whole decoder."""
    roots = {name.split(".")[0] for name in imported(path)}
    asked = path.relative_to(ROOT / "grader").as_posix()
    assert ("torch" in roots) == (asked in ("reference.py", "gpt2/against.py"))
    assert "transformers" not in roots or asked == "gpt2/against.py"


@pytest.mark.parametrize("name", ["notebook", "selfstudy/session"])
def test_what_a_kernel_imports_is_light(name):
    """A learner's kernel may have IPython and nothing else that the kit needs."""
    roots = {module.split(".")[0] for module in imported(ROOT / "grader" / f"{name}.py")}
    assert roots - {"grader", "IPython"} <= sys.stdlib_module_names
    assert own(ROOT / "grader" / f"{name}.py") <= {"selfstudy"}


@pytest.mark.parametrize("path", SANDBOX, ids=lambda path: path.stem)
def test_sandbox_knows_nothing_of_checks(path):
    assert own(path) <= {"registry", "sandbox"}


@pytest.mark.parametrize("name", ["worker", "attempts", "counting"])
def test_program_of_a_worker_stands_alone(name):
    path = ROOT / "grader" / f"{name}.py"
    assert own(path) == set()
    importers = [other.name for other in MODULES + SANDBOX if name in own(other)]
    assert importers == []


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_checks_know_neither_solutions_nor_reference(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots <= {"numpy", "grader", "tests"}
    allowed = {"laws", "inputs", "compare", "protocol", "client", "records"}
    assert own(path) <= allowed


@pytest.mark.parametrize("name", RENDERERS)
def test_renderers_see_records_only(name):
    allowed = {"records", "plain", "names", "grids", "influences", "page", "classroom"}
    allowed |= {"screen", "matrices", "sheet", "textmap", "nests", "stacks", "growth", "curves"}
    assert own(ROOT / "grader" / f"{name}.py") <= allowed


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.stem)
def test_exports_see_records_only(path):
    assert own(path) <= {"records", "plain", "names", "exports"}


MAPS = sorted((ROOT / "grader" / "maps").glob("step*.py"))


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_maps_know_neither_solutions_nor_reference(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots <= {"__future__", "typing", "numpy", "grader"}
    assert own(path) <= {"laws", "inputs", "student", "maps"}
