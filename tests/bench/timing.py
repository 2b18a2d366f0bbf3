"""Time a command, or this process and its children so far."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.stubs import stub_of

LINUX = sys.platform == "linux"


@dataclass(frozen=True)
class Spent:
    """wall in seconds; peak is the resident memory of its largest process, in MiB."""

    wall: float = 0.0
    peak: float = 0.0
    status: int = 0
    last_line: str = ""

    def __add__(self, other: "Spent") -> "Spent":
        peak = max(self.peak, other.peak)
        status, line = self.status or other.status, self.last_line or other.last_line
        return Spent(self.wall + other.wall, peak, status, line)


def spent(
    command: Sequence[str], cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> Spent:
    """Runs a command to its end."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        lines = output.read().decode(errors="replace").strip().splitlines()
    return Spent(wall, used.ru_maxrss / 1024, process.returncode, lines[-1] if lines else "")


def own_cpu() -> float:
    """Processor seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def children_cpu() -> float:
    """Processor seconds of the processes that this one has started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mib() -> float:
    """The most memory that this process ever had resident; in KiB on Linux, bytes on macOS."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if LINUX else 2**20)


def family_cpu(pid: int) -> float:
    """Processor seconds of a process, of what it waited for, and of all that descends from it."""
    data = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, data[11:15]))  # user and system, its own and its children's
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(family_cpu, map(int, children)))


def check_part_one(folder: Path) -> list[str]:
    """Make a folder with Part I finished and the other stubs. Return the command that checks it."""
    folder.mkdir()
    for step in registry.load().steps:
        right = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        (folder / step.filename).write_text(right if step.part == 1 else stub_of(step), "utf-8")
    return [sys.executable, "-m", "grader", "check", "--submission", str(folder)]
