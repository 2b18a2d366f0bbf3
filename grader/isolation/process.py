"""Choose how the worker program is started, and which walls it builds around a worker.

`Process` needs nothing of the platform: a process group of its own, resource limits, a clean
environment and an empty working directory, all ended together. It stops mistakes, not attackers.
`ProcessPlus` also gives up, for good, whatever a Linux process can give up by itself before it
loads untrusted code: system calls, and files beyond those that Python and NumPy need.
"""

import ctypes
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from grader.isolation import syscalls
from grader.isolation.world import World
from grader.report.problem import Problem

CREATE_RULESET, ASK_VERSION = 444, 1  # of Landlock
PROGRAM = Path(__file__).parent / "worker" / "__main__.py"
THREADS = ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
# glibc gives freed arrays of some MiB back to the kernel, and gets them anew, zeroed, page by page:
# two fifths of a training step. So it keeps them; those above 32 MiB it always gives back.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28)}


def landlock_version() -> int:
    """Return the version of Landlock's interface in this machine's kernel, or 0 without one."""
    if not sys.platform.startswith("linux"):
        return 0
    number: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)
    return max(0, number)


class SandboxError(Problem):
    """The worker program cannot be started on this machine."""


def environment_in(folder: str) -> dict[str, str]:
    """Return an environment with one thread for every BLAS, a fixed hash seed and reused memory."""
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **{f"{name}_NUM_THREADS": "1" for name in THREADS},
        **MALLOC,
    }


def spell_walls(readable: Iterable[str], user: int | None = None) -> str:
    """Return walls against system calls, and against other files, as JSON for the worker."""
    walls = {"landlock": landlock_version(), "calls": syscalls.program().hex()}
    return json.dumps({**walls, "readable": [*readable], "user": user})


class Isolation:
    """A way to start the worker program; this one adds nothing to a process.

    python, program and packages: the paths of the interpreter, the worker program and NumPy's
    folder, seen from inside. held: what it was probed for here, and whether that held; empty if it
    promises nothing.
    """

    name = "process"
    python, program, packages = sys.executable, str(PROGRAM), str(Path(np.__file__).parents[1])
    held: Mapping[str, bool] = {}

    def walls(self) -> str:
        """Return the rights that the program takes from a worker, as JSON, or "" for none."""
        return ""

    def command(self, program: list[str]) -> list[str]:
        """Return the command line that runs `program` under this isolation."""
        return program

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the whole environment of the program; folder is its empty working directory."""
        keep = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
        kept = {name: os.environ[name] for name in keep if name in os.environ}
        return {**environment_in(str(folder)), **kept}


class Process(Isolation):
    """A process with limits, for code that is trusted not to attack."""


class ProcessPlus(Isolation):
    """A process that gives up what it can, for machines on which bubblewrap cannot run.

    It has no world of its own. It cannot open the host's files, signal its processes or reach a
    network, but it can tell which paths exist. It cannot write files anywhere, because nothing
    would limit how many.
    """

    name = "process+"

    def __init__(self, world: World) -> None:
        self.world = world

    def walls(self) -> str:
        return spell_walls(map(str, self.world.readable()))
