"""Times in a kernel are measured with one BLAS thread."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

LOOK = "import os, {}; print(os.environ.get('OPENBLAS_NUM_THREADS'))"


@pytest.mark.parametrize(
    ("module", "chosen", "threads"),
    [("grader.notebook", "", "1"), ("grader.look", "", "1"), ("grader.notebook", "2", "2")],
)
def test_kernel_has_one_thread_unless_the_user_chose_more(module, chosen, threads):
    kept = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    own = {"OPENBLAS_NUM_THREADS": chosen} if chosen else {}
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(module)],
        env={**kept, "PYTHONPATH": str(ROOT), **own},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.strip() == threads
