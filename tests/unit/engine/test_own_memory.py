"""How a judge measures its own memory."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.support import processes

pytestmark = pytest.mark.skipif(not processes.LINUX, reason="memory as Linux counts it")

HELD = """
from grader.engine import own_memory
first = own_memory.limit_memory()
little = bytearray(100 * 2**20)
print(own_memory.is_spent(first))
much = bytearray(200 * 2**20)
print(own_memory.is_spent(first))
del much
print(own_memory.is_spent(first))
try:
    bytearray(600 * 2**20)
except MemoryError:
    print("limited")
"""


def test_memory_that_is_left_is_counted_from_the_first_limit():
    done = subprocess.run(
        [sys.executable, "-c", HELD], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "False", "limited"]
