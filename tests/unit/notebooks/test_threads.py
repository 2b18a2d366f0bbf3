"""Times in a kernel are measured with one BLAS thread."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

LOOK = "import os; {}; print(os.environ.get('OPENBLAS_NUM_THREADS'))"


def run(code, **variables):
    kept = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(code)],
        env={**kept, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["import grader.notebook", "from grader import look"])
def test_kernel_has_one_thread_before_numpy_is_loaded(first):
    assert run(first) == "1"


def test_number_of_threads_that_the_user_chose_stays():
    assert run("import grader.notebook", OPENBLAS_NUM_THREADS="2") == "2"
