"""Modules that workers import from memory."""

import importlib
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.isolation.worker.imports import ModuleFinder
from tests.conftest import ROOT

HERE = "nopeek_library_test"


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package that was read, and is not there any more."""
    package = tmp_path / HERE
    (package / "inner").mkdir(parents=True)
    (package / "tests").mkdir()
    (package / "data").mkdir()
    (package / "__init__.py").write_text("from . import plain\n")
    (package / "plain.py").write_text("x = 1\nfile = __file__\n")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "deep.py").write_text("from ..plain import x\n")
    (package / "tests" / "__init__.py").write_text("")
    (package / "data" / "no_module.py").write_text("")
    (package / "kept.py").write_text("x = 2\n")
    py_compile.compile(str(package / "kept.py"))
    (package / "stale.py").write_text("x = 3\n")
    py_compile.compile(str(package / "stale.py"))
    (package / "stale.py").write_text("x = 4444\n")
    found = ModuleFinder()
    found.read(tmp_path)
    shutil.rmtree(package)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, found])
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] == HERE]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "x"), [("plain", 1), ("inner.deep", 1), ("kept", 2), ("stale", 4444)]
)
def test_library_imports_what_was_read(library, name, x):
    assert importlib.import_module(f"{HERE}.{name}").x == x


def test_library_names_the_file_of_a_module(library):
    module = importlib.import_module(f"{HERE}.plain")
    assert module.file == library.held[f"{HERE}.plain"][2]
    assert Path(module.file).parts[-2:] == (HERE, "plain.py")


def test_library_takes_compiled_code_only_where_it_is_new(library):
    compiled = {name: held[1] for name, held in library.held.items()}
    assert compiled[f"{HERE}.kept"]
    assert not compiled[f"{HERE}.stale"]


@pytest.mark.parametrize("name", ["tests", "data", "data.no_module", "none"])
def test_library_leaves_out_tests_and_folders_that_are_not_packages(library, name):
    assert f"{HERE}.{name}" not in library.held
    assert library.find_spec(f"{HERE}.{name}") is None


CODE = """
import sys
from grader.isolation.worker.imports import hold_library
hold_library()
sys.path.clear()
import fractions, json.decoder, numpy.ma, concurrent.futures
print("PathFinder" in [getattr(finder, "__name__", "") for finder in sys.meta_path])
print("pip" in sys.meta_path[-1].held, "test" in sys.meta_path[-1].held)
"""


def test_hold_makes_imports_do_without_paths():
    command = [sys.executable, "-W", "ignore", "-c", CODE]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\nFalse False\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_library_passes_over_a_link_to_nowhere(tmp_path):
    (tmp_path / "sitecustomize.py").symlink_to("/etc/nowhere/sitecustomize.py")
    (tmp_path / "there.py").write_text("x = 1\n")
    found = ModuleFinder()
    found.read(tmp_path)
    assert [*found.held] == ["there"]
