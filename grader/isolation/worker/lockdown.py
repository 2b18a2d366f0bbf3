"""Give up rights, for good, before the worker loads untrusted code; elsewhere, note their use."""

import contextlib
import ctypes
import functools
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
HAS_TIMERS = hasattr(signal, "setitimer")  # Windows has none
NUMPY_MIB = 256  # what Python and NumPy take of the address space, where /proc does not say
FILE, THREAD = "uses a file", "starts a thread"
NOTED = {
    FILE: "open os.listdir os.scandir os.mkdir os.rmdir os.remove os.rename os.link os.symlink "
    "os.truncate os.chdir os.chmod os.utime os.chown",
    "starts a process": "os.fork os.forkpty os.exec os.system os.spawn os.posix_spawn "
    "os.startfile subprocess.Popen",
    THREAD: "_thread.start_new_thread _thread.start_joinable_thread",
    "uses a socket": "socket.__new__ socket.getaddrinfo socket.gethostbyname",
}
EVENTS = {event: does for does, events in NOTED.items() for event in events.split()}
SILENT = ("stat", "lstat", "access", "readlink", "statvfs")  # look for files without an event
TRACEBACKS = ("linecache.py", "traceback.py", "warnings.py")
MAX_NOTED = 8


def set_resource_limits(memory_mib: int, seconds: float, processes: int | None = None) -> None:
    """Limit the resources of this process, beyond what it already holds."""
    try:
        import resource
    except ImportError:  # no such limits on this platform
        return
    wanted = {"CPU": int(seconds) + 5, "CORE": 0, "FSIZE": 16 * 2**20, "NOFILE": 64}
    wanted["AS"] = (NUMPY_MIB + memory_mib) * 2**20
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        wanted["AS"] = pages * resource.getpagesize() + memory_mib * 2**20
    with contextlib.suppress(OSError, ValueError):  # lift the judge's own limit from a worker
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    if processes is not None:
        wanted["NPROC"] = processes
    for name, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))


def set_timer(name: str, seconds: float) -> None:
    """Set one of this process's timers, where the system has them; 0 stops it."""
    if HAS_TIMERS:
        signal.setitimer(getattr(signal, name), seconds)


def set_process_option(option: int, value: int) -> None:
    """Call prctl, if the system has it."""
    with contextlib.suppress(Exception):  # Linux only
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


class Walls:
    """Rights that a worker gives up for good, whatever code it runs.

    landlock: the version of its interface, or 0. readable: the paths that can be read. calls: the
    seccomp filter. user: the user that root becomes.
    """

    def __init__(
        self, calls: str, landlock: int = 0, readable: Sequence[str] = (), user: int | None = None
    ) -> None:
        self.library = ctypes.CDLL(None, use_errno=True)
        self.filter = ctypes.create_string_buffer(bytes.fromhex(calls), len(calls) // 2)
        self.head = struct.pack("@HP", len(calls) // 16, ctypes.addressof(self.filter))
        self.landlock, self.readable = landlock, readable
        self.user = user
        self.ruleset: int | None = None

    def _do(self, name: str, *args: int | bytes) -> int:
        """Call the C library, and raise OSError if that fails, because a wall must have no gap."""
        words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
        result: int = getattr(self.library, name)(*words)
        if result < 0:
            raise OSError(ctypes.get_errno(), f"{name} failed")
        return result

    def enter(self) -> None:
        """Drop the parent's privileges, and close it to all other processes."""
        if self.user is not None:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)
        self._do("capset", struct.pack("=Ii", 0x2008_0522, 0), bytes(24))
        self._do("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)  # /proc/PID/mem and ptrace
        self._do("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        self.ruleset = self._make_ruleset() if self.landlock else None

    def close(self) -> None:
        """Shut a worker in; it can write nowhere."""
        if self.ruleset is not None:
            self._do("syscall", LANDLOCK_RESTRICT, self.ruleset, 0)
            os.close(self.ruleset)
        self._do("prctl", PR_SET_SECCOMP, 2, self.head, 0, 0)

    def _make_ruleset(self) -> int:
        rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(self.landlock, 16)) - 1
        handled = struct.pack("=QQQ", rights, 3, 3)  # files; TCP; sockets and signals
        handled = handled[: 8 if self.landlock < 4 else 16 if self.landlock < 6 else 24]
        ruleset = self._do("syscall", LANDLOCK_CREATE, handled, len(handled), 0)
        grants = [(path, 0b1100) for path in self.readable]  # read files, list folders
        for path, access in [*grants, (os.devnull, 0b0110)]:
            target = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not Path(path).is_dir():
                access &= 0b1100_0000_0000_0111  # what there is to do with a file
            rule = struct.pack("=Qi", access & rights, target)
            self._do("syscall", LANDLOCK_ADD, ruleset, 1, rule, 0)
            os.close(target)
        return ruleset


class Audit:
    """Collects notes: what is done, and in which line of which of these files.

    Python's own imports are not noted, nor its tracebacks and warnings, which read lines of code.
    """

    def __init__(self, files: Collection[str]) -> None:
        self.files = files
        self.noted: list[tuple[str, str, int]] = []

    def begin(self) -> None:
        """Note from now on, for as long as this process lives."""
        for name in SILENT:
            if hasattr(os, name):
                setattr(os, name, self.wrap(getattr(os, name), FILE))
        # Not every version of Python tells of threads.
        vars(threading)["Thread"].start = self.wrap(threading.Thread.start, THREAD)
        sys.addaudithook(self.hear)

    def wrap(self, function: Callable[..., Any], does: str) -> Callable[..., Any]:
        """Return a function that is noted when it is called."""

        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.note(does)
            return function(*args, **kwargs)

        return noted

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event if it is one of those."""
        if event in EVENTS:
            self.note(EVENTS[event])

    def note(self, does: str) -> None:
        """Note what the innermost of these files does, unless Python does it for itself."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(self.noted) < MAX_NOTED:
            file = frame.f_code.co_filename
            if file in self.files:
                note = (does, file, frame.f_lineno)
                self.noted += [note] if note not in self.noted else []
                return
            if file.startswith("<frozen importlib") or file.endswith(TRACEBACKS):
                return
            frame = frame.f_back
