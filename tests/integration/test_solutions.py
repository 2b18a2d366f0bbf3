"""The solutions as texts: their examples run, and every function of the registry is there."""

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


# No doctest needs the plugins of others that happen to be installed; they take half a second.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_examples_run(course, step):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--doctest-modules", f"exercises/{step.filename}"],
        cwd=course,
        env={**os.environ, **ALONE, "PYTHONPATH": str(course)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(step.functions)} passed" in done.stdout
