"""The probe's program for a worker: like a submission that tries what is forbidden.

Each returns what it got hold of, as a list of strings: an empty list is what should come back.
It is sent to a worker as text and never imported.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading

import numpy as np

PTRACE_SEIZE = 0x4206
PLACES = (".", "..", "/", "/tmp", "/dev/shm", "/var/tmp")


def computes(seed):
    """NumPy works."""
    x = np.random.default_rng(seed).normal(size=(8, 8))
    return x @ np.linalg.inv(x)


def reads(paths):
    """Files and folders of the host that can be opened."""
    got = []
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY))
            got.append(path)
    return got


def sees(paths):
    """Paths of the host that are known to exist."""
    return [path for path in paths if os.path.lexists(path)]


def knows(words):
    """Words of the judge's environment, or of the worker's own command line."""
    with contextlib.suppress(OSError), open("/proc/self/cmdline") as file:
        sys.argv.append(file.read())
    text = repr((dict(os.environ), sys.argv))
    return [word for word in words if word in text]


def writes(folders, name):
    """Folders of the host in which a file can be made."""
    got = []
    for folder in folders:
        with contextlib.suppress(OSError), open(os.path.join(folder, name), "w"):
            got.append(folder)
    return got


def empties(paths):
    """Files of the host that are empty once they have been opened for reading."""
    got = []
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))
            got.append(path)
        with contextlib.suppress(OSError):
            os.truncate(path, 0)
            got.append(path)
    return got


def connects(port, abstract):
    """Ways to anybody else."""
    got = []
    ways = [
        (socket.AF_INET, ("127.0.0.1", port)),
        (socket.AF_UNIX, b"\0" + abstract.encode()),
    ]
    for family, address in ways:
        with contextlib.suppress(OSError):
            socket.socket(family).connect(address)
            got.append(str(address))
    for family in (socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_UNIX):
        with contextlib.suppress(OSError):
            socket.socket(family, socket.SOCK_DGRAM).close()
            got.append(family.name)
    return got


def meddles(judge):
    """Processes that can be signalled, looked into or slowed down."""
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


def multiplies():
    """Processes and threads that can be started."""
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


def hoards(mib):
    """Memory, shared memory and descriptors beyond the limit."""
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


def fills(mib):
    """How much fits on the disk, in MiB, up to that many."""
    block, full = bytes(2**20), 0
    with contextlib.suppress(OSError):
        for number in range(mib):
            with open(f"fill-{number}", "wb") as file:
                file.write(block)
            full += 1
    return full


def litters(count):
    """How many files can be made, up to that many."""
    made = 0
    with contextlib.suppress(OSError):
        for number in range(count):
            os.close(os.open(f"litter-{number}", os.O_CREAT | os.O_WRONLY))
            made += 1
    return made


def chatters(count):
    """A long answer, and much printed."""
    for _ in range(count):
        print("x" * 1000)
        with contextlib.suppress(OSError):
            os.write(1, bytes(1000))
    return "x" * (1000 * count)


def loops():
    """Does not come to an end, and hears no signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def leaves(word):
    """Leaves that word for the next worker, everywhere."""
    sys.modules["left"] = word
    for folder in PLACES:
        with contextlib.suppress(OSError), open(os.path.join(folder, word), "w"):
            os.mkdir(os.path.join(folder, word + ".locked"), 0)
    return []


def finds(word):
    """Where that word has been left."""
    got = ["module"] if "left" in sys.modules else []
    for folder in PLACES:
        got += sees([os.path.join(folder, word), os.path.join(folder, word + ".locked")])
    return got
