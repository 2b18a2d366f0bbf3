"""Tell the tests about the machine's processes."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from grader.steps.paths import ROOT

LINUX = sys.platform.startswith("linux")
PROC = Path("/proc")


def _read(pid, name):
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def interruptible():
    """In a new process: lets it be interrupted. A runner without a terminal may have that off."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def descriptors():
    """Return how many descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


def numbers():
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def _state(pid):
    """Its letter, and its parent's number."""
    letter, parent = (_read(pid, "stat").rpartition(b")")[2].split() + [b"", b"0"])[:2]
    return letter, int(parent or 0)


def children(pid):
    """The direct children of a process, zombies included."""
    return [number for number in numbers() if _state(number)[1] == pid]


def descendants(pid):
    parents = {number: _state(number)[1] for number in numbers()}
    found = [pid]
    for one in found:
        found += [number for number, parent in parents.items() if parent == one]
    return found[1:]


def mapped(pid):
    """The files in a process's memory, by the names under which it knows them."""
    lines = _read(pid, "maps").decode().splitlines()
    return {Path("/" + line.partition("/")[2]) for line in lines if "/" in line}


def zombies(pids):
    return [number for number in pids if _state(number)[0] == b"Z"]


def belonging(folder):
    """The processes, wherever they are in the tree, that were started in that folder."""
    return {n for n in numbers() if os.fsencode(folder) in _read(n, "environ")}


def running(pid):
    return pid not in zombies([pid]) and (PROC / str(pid)).exists()


def soon(holds):
    """Return whether it holds soon; the system takes a moment to end a killed process."""
    for _ in range(500):
        if holds():
            return True
        time.sleep(0.01)
    return False


def gone(pid):
    """Return whether the process, which was killed, is gone."""
    return soon(lambda: not running(pid))


def end_with_their_parent(program):
    """Return how many processes of a program that kills itself end, or 0 if any does not.

    Before that, it prints its host's folder and their numbers.
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    folder, *family = done.stdout.split()
    ended = [gone(number) for number in {*map(int, family), *belonging(folder)}]
    shutil.rmtree(folder)
    return len(family) * all(ended)
