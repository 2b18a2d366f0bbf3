"""Time a command, or this process and its children so far."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.steps import registry
from tests.support.stubs import write_solutions, write_stubs


@dataclass(frozen=True)
class Spent:
    """wall in seconds; peak is the resident memory of its largest process, in MiB."""

    wall: float
    peak: float
    status: int
    last_line: str


def spent(command: Sequence[str], cwd: Path) -> Spent:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, cwd=cwd, **pipes)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        lines = output.read().decode(errors="replace").strip().splitlines()
    return Spent(wall, used.ru_maxrss / 1024, process.returncode, lines[-1] if lines else "")


def children_cpu() -> float:
    """Processor seconds of the processes that this one has started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def family_cpu(pid: int) -> float:
    """Processor seconds of a process, of what it waited for, and of all that descends from it."""
    data = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, data[11:15]))  # user and system, its own and its children's
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(family_cpu, map(int, children)))


def check_part_one(folder: Path) -> list[str]:
    """Make a folder with Part I finished and the other stubs. Return the command that checks it."""
    write_solutions(write_stubs(folder), (s for s in registry.load().steps if s.part == 1))
    return [sys.executable, "-m", "grader", "check", "--submission", str(folder)]
