"""Processes that compute what is stored import this kit, or they are refused."""

import os
import subprocess
import sys

import pytest

from grader.authoring.pools import refuse_other_kit, start_pool
from grader.engine.kit_digest import kit_digest
from grader.steps.paths import PACKAGE, add_kit, pass_on_kit
from grader.steps.registry import KitError
from tests.conftest import ROOT

HOME = str(PACKAGE.parent)


@pytest.fixture
def other(tmp_path):
    """A folder with another kit, which says so when it is imported."""
    (tmp_path / "other" / "grader").mkdir(parents=True)
    (tmp_path / "other" / "grader" / "__init__.py").write_text("raise SystemExit('the other kit')")
    return str(tmp_path / "other")


@pytest.mark.parametrize("before", [["a"], []])
@pytest.mark.parametrize("after", [["b"], []])
def test_kit_comes_after_libraries_and_before_another_kit(other, before, after):
    expected = [*before, HOME, other, *after]
    assert add_kit([*before, other, *after]) == expected
    assert add_kit(expected) == expected
    assert add_kit([*before, *after]) == [*before, *after, HOME]


@pytest.mark.long
def test_pool_of_the_command_computes_with_its_own_kit(other, tmp_path):
    """Although the current folder, where `-m` found the kit, is not searched for modules."""
    command = [sys.executable, "-m", "grader", "release", "1", "--out", str(tmp_path / "out")]
    env = {**os.environ, "PYTHONPATH": other}
    done = subprocess.run(command, cwd=HOME, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "out" / ".answers").iterdir()] == [kit_digest()]


def test_import_path_is_as_it_was_afterwards(other, monkeypatch):
    monkeypatch.setattr(sys, "path", before := [other, "a"])
    with pass_on_kit():
        assert sys.path == [HOME, other, "a"]
    assert sys.path == before == [other, "a"]


@pytest.mark.parametrize(
    ("package", "digest"), [(str(PACKAGE), "another"), (str(ROOT / "other"), kit_digest())]
)
def test_process_with_another_kit_is_refused(package, digest):
    with pytest.raises(KitError, match="imported the kit"):
        refuse_other_kit(package, digest)


def test_pool_whose_process_ends_is_one_sentence():
    with pytest.raises(KitError, match="may have imported another kit"), start_pool(1) as pool:
        pool.submit(os._exit, 1).result()
