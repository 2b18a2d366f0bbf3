"""The process that guards a worker ends it with all that it started, however early it is told."""

import subprocess
import sys

import pytest

from tests.support import processes

# The fork of a guard that is told to end before it does anything else.
TOLD_AT_ONCE = """
import os, signal, time
from grader.isolation.worker import processes

fork = os.fork

def fork_and_end():
    child = fork()
    if child:
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    return child

os.fork = fork_and_end
processes._guard(os.open(os.devnull, os.O_RDONLY))
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
time.sleep(60)
"""
# A worker whose orphans end before it does, and that ends by itself.
ENDS_BY_ITSELF = """
import os
from grader.isolation.worker import processes

processes._guard(os.open(os.devnull, os.O_RDONLY))
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
print(os.getpid(), flush=True)
os._exit(3)
"""


@pytest.mark.skipif(not processes.LINUX, reason="only there a program can adopt orphans")
@pytest.mark.parametrize("program", [TOLD_AT_ONCE, ENDS_BY_ITSELF])
def test_guard_ends_after_its_worker(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert processes.gone(int(done.stdout))
