"""Try what is forbidden, as a hostile submission would; the probe runs this in a worker.

Most functions return what they got hold of, as a list of strings. In a tight sandbox the list is
empty. The file is sent to a worker as text and never imported, so it needs only NumPy.
"""

from __future__ import annotations

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
from pathlib import Path

import numpy as np

PTRACE_SEIZE = 0x4206
MADV_COLD, MADV_PAGEOUT = 20, 21
PLACES = (".", "..", "/", "/tmp", "/dev/shm", "/var/tmp")


def computes(seed: int) -> np.ndarray:
    """Multiply a matrix by its inverse, to show that NumPy works."""
    x: np.ndarray = np.random.default_rng(seed).normal(size=(8, 8))
    return x @ np.linalg.inv(x)


def reads(paths: list[str]) -> list[str]:
    """Return the files and folders of the host that can be opened."""
    got = []
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY))
            got.append(path)
    return got


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
    got = []
    for folder in folders:
        with contextlib.suppress(OSError), Path(folder, name).open("w"):
            got.append(folder)
    return got


def empties(paths: list[str]) -> list[str]:
    """Return the files of the host that can be emptied, though they are opened only for reading."""
    got = []
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))
            got.append(path)
        with contextlib.suppress(OSError):
            os.truncate(path, 0)
            got.append(path)
    return got


def connects(port: int, abstract: str) -> list[str]:
    """Return the sockets that reach another process."""
    got = []
    ways: list[tuple[int, tuple[str, int] | bytes]] = [
        (socket.AF_INET, ("127.0.0.1", port)),
        (socket.AF_UNIX, b"\0" + abstract.encode()),
    ]
    for kind, address in ways:
        with contextlib.suppress(OSError):
            socket.socket(kind).connect(address)
            got.append(str(address))
    for family in (socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_UNIX):
        with contextlib.suppress(OSError):
            socket.socket(family, socket.SOCK_DGRAM).close()
            got.append(family.name)
    return got


def meddles(judge: int) -> list[str]:
    """Return the processes that can be signalled, looked into or slowed down."""
    got = []
    for pid in (os.getppid(), 1, judge, -1):
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            got.append(f"signal {pid}")
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, os.sched_getaffinity(pid))  # as it was, should it work
            got.append(f"scheduling of {pid}")
        for name in ("mem", "environ", "maps", "fd", "root"):
            got += reads([f"/proc/{pid}/{name}"])
    library, parent, room = ctypes.CDLL(None), os.getppid(), ctypes.create_string_buffer(16)
    if library.prlimit(parent, 0, None, room) == 0:
        got.append("limits of the parent")
    if library.ptrace(PTRACE_SEIZE, parent, None, None) == 0:
        got.append("trace of the parent")
    return got


def multiplies() -> list[str]:
    """Return the kinds of processes and threads that can be started."""
    got = []
    with contextlib.suppress(OSError):
        pid = os.fork()
        if not pid:
            os._exit(0)
        got.append("fork")
    with contextlib.suppress(OSError):
        os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
        got.append("spawn")
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=int).start()
        got.append("thread")
    with contextlib.suppress(OSError):
        os.execv(sys.executable, [sys.executable, "-c", ""])
    return got


def hoards(mib: int) -> list[str]:
    """Return what could be had beyond the limits: memory, shared memory, descriptors."""
    got = []
    with contextlib.suppress(MemoryError):
        got.append(f"{np.ones(mib * 2**20, np.uint8).nbytes} bytes")
    with contextlib.suppress(OSError, AttributeError):
        os.close(os.memfd_create("x"))
        got.append("memory without a name")
    with contextlib.suppress(OSError):
        opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(2000)]
        got.append(f"{len(opened)} descriptors")
    return got


def fills(mib: int) -> int:
    """Return how many MiB fit on the disk, at most `mib`."""
    block, full = bytes(2**20), 0
    with contextlib.suppress(OSError):
        for number in range(mib):
            Path(f"fill-{number}").write_bytes(block)
            full += 1
    return full


def litters(count: int) -> int:
    """Return how many files can be made, at most `count`."""
    made = 0
    with contextlib.suppress(OSError):
        for number in range(count):
            os.close(os.open(f"litter-{number}", os.O_CREAT | os.O_WRONLY))
            made += 1
    return made


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
    ways: dict[str, Callable[[], object]] = {
        "look up": Path(os.__file__).stat,
        "look up a link": Path("/none").readlink,
        "open": lambda: os.open("/none", os.O_RDONLY),
        "list": lambda: list(Path("/").iterdir()),
        "go": lambda: os.chdir("/"),
        "drop a file": lambda: os.posix_fadvise(0, 0, 0, os.POSIX_FADV_DONTNEED),
        "drop cold pages": lambda: memory.madvise(MADV_COLD),
        "drop pages": lambda: memory.madvise(MADV_PAGEOUT),
    }
    return [name for name, way in ways.items() if not _is_filtered(way)]


def brings_code() -> list[str]:
    """Return the ways to run machine code of one's own, and to read another process's clock."""
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    clock = (~os.getppid()) << 3 | 2  # of the parent's processor time
    ways: dict[str, Callable[[], object]] = {
        "run it": lambda: mmap.mmap(-1, mmap.PAGESIZE, prot=writable | mmap.PROT_EXEC),
        "another's clock": lambda: time.clock_gettime(clock),
        "another's group": lambda: os.getpgid(os.getppid()),
    }
    if os.uname().machine == "x86_64":
        ways["move the kernel's"] = _move_the_kernels
    return [name for name, way in ways.items() if not _is_filtered(way)]


def _move_the_kernels() -> None:
    """Ask for the kernel's own code at an address of one's own: ARCH_MAP_VDSO_64."""
    library = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    if library.syscall(158, 0x2003, ctypes.c_void_p(0x1000_0000)) == -1:
        raise OSError(ctypes.get_errno(), "arch_prctl")


def meets() -> list[str]:
    """Return the ways to wake, or be woken by, another process with the same library in memory."""
    library = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
    address = ctypes.cast(library.getpid, ctypes.c_void_p).value or 0
    place = ctypes.c_void_p(address & ~3)
    got = []
    for name, operation in {"wait": 0, "wake": 1}.items():
        ctypes.set_errno(0)
        library.syscall(number, place, operation, 0, None, None, 0)
        if ctypes.get_errno() != errno.EPERM:
            got.append(name)
    return got


def _is_filtered(way: Callable[[], object]) -> bool:
    """Return whether the system refused without trying."""
    try:
        way()
    except OSError as error:
        return error.errno == errno.EPERM
    return False


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
