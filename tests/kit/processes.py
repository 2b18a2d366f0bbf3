"""What the tests may know of the machine's processes."""

import os
import sys
import time
from pathlib import Path

LINUX = sys.platform.startswith("linux")
PROC = Path("/proc")


def _read(pid, name):
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def descriptors():
    """How many descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


def numbers():
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def children(pid):
    """The direct children of a process, zombies included."""
    return [
        n for n in numbers() if _read(n, "stat").rpartition(b")")[2].split()[1:2] == [b"%d" % pid]
    ]


def descendants(pid):
    found = children(pid)
    for one in found:
        found += children(one)
    return found


def zombies(pids):
    return [n for n in pids if _read(n, "stat").rpartition(b")")[2].split()[:1] == [b"Z"]]


def belonging(folder):
    """The processes, wherever they are in the tree, that were started in that folder."""
    return {n for n in numbers() if os.fsencode(folder) in _read(n, "environ")}


def running(pid):
    return pid not in zombies([pid]) and (PROC / str(pid)).exists()


def gone(pid):
    """Whether the process, which was killed, is gone; that takes the system a moment."""
    for _ in range(500):
        if not running(pid):
            return True
        time.sleep(0.01)
    return False
