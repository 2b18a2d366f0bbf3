"""What the tests of several rooms share."""

import os
import shutil
import subprocess

import pytest

from tests.conftest import ROOT
from tests.support import forks


@pytest.fixture
def learner(tmp_path):
    """learner(word, ...): that command for a learner, whose exercises in tmp_path are solved."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "solutions", tmp_path / "exercises", ignore=ignored)
    env = {**os.environ, **forks.VARIABLES, "NOPEEK_HOME": str(tmp_path), "PYTHONUTF8": "1"}

    def learner(*words):
        return forks.run("grader", *words, cwd=tmp_path, env=env, stderr=subprocess.PIPE)

    return learner
