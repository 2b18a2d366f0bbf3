"""The solutions as texts: their examples run, and every function of the registry is there."""

import ast
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, STEPS


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder in which the solutions are called exercises, as a student's files are."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "exercises").mkdir()
    for step in STEPS:
        text = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        (folder / "exercises" / step.filename).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_examples_run(course, step):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--doctest-modules", f"exercises/{step.filename}"],
        cwd=course,
        env={**os.environ, "PYTHONPATH": str(course)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(step.functions)} passed" in done.stdout


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_function_is_asked_for_with_its_contract(step):
    tree = ast.parse((ROOT / "solutions" / step.filename).read_text(encoding="utf-8"))
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function in step.functions:
        node = found[function.name]
        required = [arg.arg for arg in node.args.args][: len(function.takes)]
        assert tuple(required) == function.takes
        assert ">>>" in (ast.get_docstring(node) or ""), function.name


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_text_starts_with_its_number_and_fits_the_page(step):
    lines = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# %% [markdown]"
    assert lines[1].startswith(f"# # Step {step.number} — ")
    assert [line for line in lines if len(line) > 100] == []
