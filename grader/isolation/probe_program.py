"""Try what is forbidden, as a hostile submission would; the probe runs this in a worker.

Most functions return what they got hold of, as a list of strings. In a tight sandbox the list is
empty. The file is sent to a worker as text and never imported, so it needs only NumPy.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import signal
import socket
import sys
import threading
import time
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

PTRACE_SEIZE = 0x4206
MADV_COLD, MADV_PAGEOUT = 20, 21
Ways = dict[str, Callable[[], object]]
PLACES = (".", "..", "/", "/tmp", "/dev/shm", "/var/tmp")


def computes(seed: int) -> np.ndarray:
    """Multiply a matrix by its inverse, to show that NumPy works."""
    x: np.ndarray = np.random.default_rng(seed).normal(size=(8, 8))
    return x @ np.linalg.inv(x)


def _open(path: str, flags: int = os.O_RDONLY) -> None:
    os.close(os.open(path, flags))


def _call(name: str, *args: object) -> None:
    """Call a function of the C library. Raise OSError if it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)


def _that_pass(ways: Ways) -> list[str]:
    """Return the ways that the system does not refuse without trying."""
    got = []
    for name, way in ways.items():
        try:
            way()
        except (RuntimeError, MemoryError):  # no thread, no memory
            continue
        except OSError as error:
            if error.errno == errno.EPERM:
                continue
        got.append(name)
    return got


def reads(paths: list[str]) -> list[str]:
    """Return the files and folders of the host that can be opened."""
    return _that_pass({path: partial(_open, path) for path in paths})


def sees(paths: list[str]) -> list[str]:
    """Return the paths of the host whose existence can be learned."""
    return [path for path in paths if os.path.lexists(path)]


def knows(words: list[str]) -> list[str]:
    """Return the words found in the environment or in the worker's own command line."""
    with contextlib.suppress(OSError):
        sys.argv.append(Path("/proc/self/cmdline").read_text())
    text = repr((dict(os.environ), sys.argv))
    return [word for word in words if word in text]


def writes(folders: list[str], name: str) -> list[str]:
    """Return the folders of the host in which a file can be made."""
    make = os.O_CREAT | os.O_WRONLY
    return _that_pass({folder: partial(_open, f"{folder}/{name}", make) for folder in folders})


def empties(path: str) -> list[str]:
    """Return the ways to empty a file of the host, though it is opened only for reading."""
    return _that_pass(
        {
            "open": partial(_open, path, os.O_RDONLY | os.O_TRUNC),
            "truncate": partial(os.truncate, path, 0),
        }
    )


def connects(port: int, abstract: str) -> list[str]:
    """Return the sockets that reach another process."""
    others = (socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_UNIX)
    ways: Ways = {kind.name: partial(socket.socket, kind, socket.SOCK_DGRAM) for kind in others}
    ways["port"] = lambda: socket.socket(socket.AF_INET).connect(("127.0.0.1", port))
    ways["abstract"] = lambda: socket.socket(socket.AF_UNIX).connect(b"\0" + abstract.encode())
    return _that_pass(ways)


def meddles(judge: int) -> list[str]:
    """Return the processes that can be signalled, looked into or slowed down."""
    ways: Ways = {}
    for pid in (os.getppid(), 1, judge, -1):
        ways[f"signal {pid}"] = partial(os.kill, pid, 0)
        ways[f"scheduling of {pid}"] = partial(_set_scheduling, pid)
        for name in ("mem", "environ", "maps", "fd", "root"):
            ways[f"{name} of {pid}"] = partial(_open, f"/proc/{pid}/{name}")
    parent, room = os.getppid(), ctypes.create_string_buffer(16)
    ways["limits"] = partial(_call, "prlimit", parent, 0, None, room)
    ways["trace"] = partial(_call, "ptrace", PTRACE_SEIZE, parent, None, None)
    return _that_pass(ways)


def _set_scheduling(pid: int) -> None:
    os.sched_setaffinity(pid, os.sched_getaffinity(pid))  # as it was, should it work


def multiplies() -> list[str]:
    """Return the kinds of processes and threads that can be started."""
    python = [sys.executable, "-c", ""]
    return _that_pass(
        {
            "fork": lambda: os.fork() or os._exit(0),
            "spawn": lambda: os.posix_spawn(sys.executable, python, {}),
            "thread": lambda: threading.Thread(target=int).start(),
            "program": lambda: os.execv(sys.executable, python),
        }
    )


def hoards(mib: int) -> list[str]:
    """Return what could be had beyond the limits: memory, shared memory, descriptors."""
    return _that_pass(
        {
            "memory": lambda: np.ones(mib * 2**20, np.uint8),
            "memory without a name": lambda: os.close(os.memfd_create("x")),
            "descriptors": lambda: [os.open(os.devnull, os.O_RDONLY) for _ in range(2000)],
        }
    )


def fills() -> list[str]:
    """Return the ways to write data to the disk."""
    return _that_pass({"fill": lambda: Path("fill").write_bytes(bytes(2**20))})


def chatters(count: int) -> str:
    """Print a lot, and return a long answer."""
    for _ in range(count):
        print("x" * 1000)
        with contextlib.suppress(OSError):
            os.write(1, bytes(1000))
    return "x" * (1000 * count)


def loops() -> None:
    """Run forever, and ignore signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def is_remembered() -> list[str]:
    """Return the ways to change which names and pages of files the system keeps in memory.

    The time to look one up, or to read it, then tells the next worker.
    """
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    ways: Ways = {
        "look up": Path(os.__file__).stat,
        "look up a link": Path("/none").readlink,
        "open": lambda: os.open("/none", os.O_RDONLY),
        "list": lambda: list(Path("/").iterdir()),
        "go": lambda: os.chdir("/"),
        "drop a file": lambda: os.posix_fadvise(0, 0, 0, os.POSIX_FADV_DONTNEED),
        "drop cold pages": lambda: memory.madvise(MADV_COLD),
        "drop pages": lambda: memory.madvise(MADV_PAGEOUT),
    }
    return _that_pass(ways)


def brings_code() -> list[str]:
    """Return the ways to run machine code of one's own, and to read another process's clock."""
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    clock = (~os.getppid()) << 3 | 2  # of the parent's processor time
    ways: Ways = {
        "run it": lambda: mmap.mmap(-1, mmap.PAGESIZE, prot=writable | mmap.PROT_EXEC),
        "another's clock": lambda: time.clock_gettime(clock),
        "another's group": lambda: os.getpgid(os.getppid()),
    }
    if os.uname().machine == "x86_64":
        # The kernel's own code at an address of one's own: ARCH_MAP_VDSO_64.
        ways["move the kernel's"] = partial(
            _call, "syscall", 158, 0x2003, ctypes.c_void_p(0x1000_0000)
        )
    return _that_pass(ways)


def meets() -> list[str]:
    """Return the ways to wake, or be woken by, another process with the same library in memory."""
    number = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
    address = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value or 0
    place = ctypes.c_void_p(address & ~3)
    return _that_pass(
        {
            name: partial(_call, "syscall", number, place, operation, 0, None, None, 0)
            for name, operation in {"wait": 0, "wake": 1}.items()
        }
    )


def leaves(word: str) -> list[str]:
    """Leave that word for the next worker, in every place that can be written."""
    sys.modules["left"] = types.ModuleType(word)
    for folder in PLACES:
        with contextlib.suppress(OSError), Path(folder, word).open("w"):
            Path(folder, word + ".locked").mkdir(0)
    return []


def finds(word: str) -> list[str]:
    """Return the places where an earlier worker left that word."""
    got = ["module"] if "left" in sys.modules else []
    for folder in PLACES:
        got += sees([f"{folder}/{word}", f"{folder}/{word}.locked"])
    return got
