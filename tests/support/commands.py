"""Run the kit's commands as users do, and read the tables that they write."""

import csv
import os
import subprocess

from tests.conftest import ROOT
from tests.support import forks


def run(*arguments, cwd=ROOT, env=None, **more):
    """Run a command; what subprocess.run returns. env: variables besides the usual ones."""
    env = {**os.environ, **forks.VARIABLES, **(env or {})}
    return forks.run("grader", *arguments, cwd=cwd, env=env, **more)


def run_strictly(*arguments, **more):
    """The same, where a warning is an error, and errors are apart from what is printed."""
    return run(*arguments, options=forks.STRICT, stderr=subprocess.PIPE, **more)


def nopeek(*arguments, status=0, **more):
    """All that a command said, which has to end with this status."""
    done = run(*arguments, **more)
    assert done.returncode == status, done.stdout
    return done.stdout


def table(path, key="student_id"):
    """The rows of a table, by what is in this column."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row[key]: row for row in csv.DictReader(file)}
