"""Choose how the worker program is started; start workers, end them, and leave nothing behind.

`Process` needs nothing of the platform: a process group of its own, resource limits, a clean
environment and an empty working directory, all ended together. It stops mistakes, not attackers.
"""

import contextlib
import importlib.util
import itertools
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from grader.isolation.margins import Margins
from grader.report.problem import Problem
from grader.steps.registry import Limits

START_SECONDS = 30.0
END_SECONDS = 10.0
_COMMAND = struct.Struct(">cQ")
# On macOS a forked child must not touch the system's BLAS; Windows has no fork at all.
CAN_FORK = sys.platform.startswith(("linux", "freebsd"))
PROGRAM = Path(__file__).parent / "worker" / "__main__.py"
THREADS = ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
# glibc gives freed arrays of some MiB back to the kernel, and gets them anew, zeroed, page by page:
# two fifths of a training step. So it keeps them; those above 32 MiB it always gives back.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28)}


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


def find_packages() -> str:
    """Return the folder of NumPy's package, without its import: a worker begins with that."""
    spec = importlib.util.find_spec("numpy")
    return str(Path(spec.origin).parents[1]) if spec and spec.origin else ""


class Isolation:
    """A way to start the worker program; this one adds nothing to a process.

    python, program and packages: the paths of the interpreter, the worker program and NumPy's
    folder, seen from inside. held: what it was probed for here, and whether that held; empty if it
    promises nothing.
    """

    name = "process"
    python, program, packages = sys.executable, str(PROGRAM), find_packages()
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


class Host:
    """Starts workers and ends them; a context manager that leaves no process behind.

    This one starts every worker as an interpreter of its own.
    """

    def __init__(self, isolation: Isolation, limits: Limits) -> None:
        self.isolation = isolation
        self.limits = limits
        self.deadline = math.inf  # for everything that runs here, on the clock of `time.monotonic`
        self.audit = False  # whether workers note what is refused where a class is graded
        self.margins = Margins()  # what notebooks' statements have taken so far
        self.upset = False  # whether a worker ended or hung unexpectedly
        self.aborted = False  # whether no worker may start any more
        self.folder = Path(tempfile.mkdtemp(prefix="nopeek-"))
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> tuple[socket.socket, int]:
        """Start a worker. Return the judge's socket to it, and its number for `end`."""
        ours, theirs = socket.socketpair()
        process = self._launch("serve", theirs)
        self.running[process.pid] = process
        try:
            self._reply(ours, START_SECONDS)
        except SandboxError:
            ours.close()
            self.end(process.pid)
            raise
        return ours, process.pid

    def end(self, number: int) -> None:
        """Kill a worker and everything that it started."""
        if number in self.running:
            _kill(self.running.pop(number))

    def end_all(self) -> None:
        """Kill all workers, and what starts them."""
        for number in list(self.running):
            self.end(number)

    def abort(self) -> None:
        """End everything at once, also for those who wait for a worker; none starts any more."""
        self.aborted = True
        self.end_all()

    def close(self) -> None:
        """End everything and remove the working directory."""
        self.end_all()
        remove(self.folder)

    def _reply(self, control: socket.socket, seconds: float) -> int:
        """Return the number that the worker program sends. Raise SandboxError if none arrives."""
        control.settimeout(seconds)
        try:
            data = control.recv(_COMMAND.size)
        except OSError:
            data = b""
        if len(data) < _COMMAND.size:
            raise SandboxError(
                f"the worker program did not start: is NumPy installed for {sys.executable}? "
                f"(isolation: {self.isolation.name})"
            )
        return int(_COMMAND.unpack(data)[1])

    def _launch(self, mode: str, theirs: socket.socket) -> subprocess.Popen[bytes]:
        descriptor = theirs.fileno()
        windows = sys.platform == "win32"
        inside, limits = self.isolation, self.limits
        program = [
            *(inside.python, "-s", "-S", "-B", inside.program),
            *("share" if windows else mode, str(descriptor), inside.packages),
            *(str(limits.memory_mib), str(limits.step_seconds), inside.walls()),
        ]
        process = subprocess.Popen(
            inside.command(program),
            env=inside.environment(self.folder),
            cwd=self.folder,
            stdin=subprocess.PIPE if windows else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=() if windows else (descriptor,),
            start_new_session=not windows,
        )
        if sys.platform == "win32" and process.stdin:
            process.stdin.write(theirs.share(process.pid))
            process.stdin.close()
        theirs.close()
        return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program with everything that it started, and wait for it."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def remove(folder: Path) -> None:
    """Remove a folder as far as possible, even if it is locked or too deep for recursion.

    Every folder inside is moved to the top, so that no path becomes long, and emptied there.
    """
    names = (folder / f"{number}.doomed-{os.getpid()}" for number in itertools.count())
    folders = [folder]
    while folders:
        with contextlib.suppress(OSError):
            inside = folders.pop()
            inside.chmod(0o700)
            for entry in list(os.scandir(inside)):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        Path(entry).chmod(0o700)
                        folders.append(Path(entry).rename(next(names)))
                    else:
                        Path(entry).unlink()
            inside.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()


class ForkingHost(Host):
    """Forks the workers from one parent that has loaded NumPy, in milliseconds."""

    def __init__(self, isolation: Isolation, limits: Limits) -> None:
        super().__init__(isolation, limits)
        self.talking = threading.Lock()  # one question and its answer at a time
        self._begin()

    def _begin(self) -> None:
        self.control, theirs = socket.socketpair()
        self.process = self._launch("parent", theirs)
        self.ready = False

    def start(self) -> tuple[socket.socket, int]:
        with self.talking:
            try:
                return self._fork()
            except (OSError, SandboxError):  # a worker may have killed the parent
                self.end_all()
                if self.aborted:
                    raise
                self._begin()
                return self._fork()

    def _fork(self) -> tuple[socket.socket, int]:
        if self.aborted:
            raise SandboxError("all workers were ended")
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                if not self.ready:
                    self._reply(self.control, START_SECONDS)
                    self.ready = True
                socket.send_fds(self.control, [_COMMAND.pack(b"f", 0)], [theirs.fileno()])
            return ours, self._reply(self.control, END_SECONDS)
        except (OSError, SandboxError):
            ours.close()
            raise

    def end(self, number: int) -> None:
        with self.talking:
            try:
                self.control.sendall(_COMMAND.pack(b"k", number))
                self._reply(self.control, END_SECONDS)
            except (OSError, SandboxError):
                self.end_all()  # the next start tries again

    def end_all(self) -> None:
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)  # the parent then ends its workers
        self.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        _kill(self.process)


def start_host(isolation: Isolation, limits: Limits) -> Host:
    """Return the kind of host that suits this platform."""
    return (ForkingHost if CAN_FORK else Host)(isolation, limits)
