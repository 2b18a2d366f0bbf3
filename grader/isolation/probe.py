"""Probe a sandbox on this machine: try every promise from inside a worker.

Grading other people's code starts here. If a promise does not hold, grading is refused.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.isolation import Host, Isolation, Process, SandboxError, start_host
from grader.isolation.allowed_calls import MACHINES
from grader.isolation.client import CallFailed, Program, TimedOut, Worker
from grader.isolation.hosts import PROGRAM
from grader.isolation.sandboxes import BWRAP, Bubblewrap, ProcessPlus, find_world, landlock_version
from grader.steps.paths import ROOT
from grader.steps.registry import Limits

ATTEMPTS = Path(__file__).with_name("probe_program.py")
STEP_SECONDS = 60.0
HASTE = 0.2
CHATTER = 200  # thousand characters
LEAST_LANDLOCK = 3  # before that version, opening a read-only file could empty it
PATHS_UNKNOWN = "paths of the host are unknown"


@dataclass(frozen=True)
class Probe:
    """The equipment of the trials: workers, and secrets of the judge to look for."""

    host: Host
    token: str
    folder: Path
    listening: tuple[int, str]  # the port and the abstract address of the judge's sockets

    def worker(self) -> Worker:
        """Return a worker with the probe's program loaded."""
        worker = Worker(self.host, time.monotonic() + STEP_SECONDS)
        worker.load(Program("attempts", {"attempts": (ATTEMPTS.read_text("utf-8"), "attempts.py")}))
        return worker

    def try_to(self, attempt: str, *args: Any) -> Any:
        """Return what a fresh worker got hold of. Raise CallFailed if it broke."""
        with contextlib.closing(self.worker()) as worker:
            return worker.call(attempt, args, {}).value

    def paths(self) -> list[str]:
        """Return paths of the judge and the host: hidden checks, submissions, processes."""
        paths = [
            *(self.folder, self.folder / self.token, ROOT, ROOT / "solutions", PROGRAM),
            *(Path.home(), Path("/etc"), Path("/etc/passwd"), Path(sys.executable).parent),
            *(Path(path) for path in sys.path if path.endswith("-packages")),
            *(Path(f"/proc/{pid}/environ") for pid in (1, os.getpid())),
        ]
        return [str(path) for path in paths if path.exists()]


def _gets_nothing(
    attempt: str, arguments: Callable[[Probe], Sequence[Any]] = lambda probe: ()
) -> Callable[[Probe], bool]:
    """Return a trial that holds if the attempt gets hold of nothing."""
    return lambda probe: probe.try_to(attempt, *arguments(probe)) == []


def _list_secrets(probe: Probe) -> Sequence[Any]:
    temporary = Path(tempfile.gettempdir())  # a worker's folder is in it, and named to the worker
    places = [str(path) for path in (ROOT, Path.home()) if not temporary.is_relative_to(path)]
    return [[probe.token, *places]]


def _is_unwritten(probe: Probe) -> bool:
    """Return whether the host has no such file, whatever the worker reports."""
    folders = [probe.folder, Path(tempfile.gettempdir()), Path("/dev/shm"), ROOT, Path.home()]
    names = [folder / f"probe-{probe.token}" for folder in folders]
    probe.try_to("writes", [str(folder) for folder in folders], f"probe-{probe.token}")
    found = [name for name in names if name.exists()]
    for name in found:
        name.unlink()
    return not found


def _is_kept_whole(probe: Probe) -> bool:
    """Return whether the file is unchanged on the host, and hidden from a worker under walls."""
    bait = probe.folder / "bait"
    bait.write_text(probe.token, encoding="ascii")
    bait.chmod(0o666)
    isolation = probe.host.isolation
    if isinstance(isolation, ProcessPlus):  # one more file of the host that a worker may read
        world = replace(isolation.world, shared=(*isolation.world.shared, bait))
        isolation = ProcessPlus(world)
    with start_host(isolation, probe.host.limits) as host:
        replace(probe, host=host).try_to("empties", str(bait))
    return bait.read_text(encoding="ascii") == probe.token


def _output(probe: Probe) -> bool:
    with contextlib.closing(probe.worker()) as worker:
        answer = worker.call("chatters", [CHATTER], {})
    return max(len(answer.printed), len(answer.value)) < CHATTER * 100


def _time(probe: Probe) -> bool:
    """Return whether a loop was ended and its end of the channel closed."""
    worker = probe.worker()
    worker.deadline = time.monotonic() + HASTE
    with worker.channel.dup() as watched:
        with contextlib.suppress(TimedOut):
            worker.call("loops", [], {})
            return False
        watched.settimeout(STEP_SECONDS)
        return watched.recv(1) == b""


def _leaves_nothing(probe: Probe) -> bool:
    """Return whether nothing was left on the host; remove anything that was."""
    try:
        probe.try_to("leaves", probe.token)
        return bool(probe.try_to("finds", probe.token) == [])
    finally:
        for folder in (probe.host.folder, "/", "/tmp", "/dev/shm", "/var/tmp"):
            with contextlib.suppress(OSError):
                (Path(folder) / f"{probe.token}.locked").rmdir()
            with contextlib.suppress(OSError):
                (Path(folder) / probe.token).unlink()


PROMISES: Mapping[str, Callable[[Probe], bool]] = {
    "NumPy works": lambda probe: bool(abs(probe.try_to("computes", 1).trace() - 8) < 1e-6),
    "no network": _gets_nothing("connects", lambda probe: probe.listening),
    "files of the host cannot be opened": _gets_nothing(
        "reads", lambda probe: [[*probe.paths(), "/proc/self/environ"]]
    ),
    PATHS_UNKNOWN: _gets_nothing("sees", lambda probe: [probe.paths()]),
    "environment is clean": _gets_nothing("knows", _list_secrets),
    "nothing can be written on the host": _is_unwritten,
    "what can be read cannot be emptied": _is_kept_whole,
    "other processes are out of reach": _gets_nothing("meddles", lambda probe: [os.getpid()]),
    "no further processes or threads": _gets_nothing("multiplies"),
    "memory is limited": _gets_nothing(
        "hoards", lambda probe: [probe.host.limits.memory_mib + 1024]
    ),
    "disk is limited": _gets_nothing("fills"),
    "number of files is limited": _gets_nothing("writes", lambda probe: [["."], "litter"]),
    "output is limited": _output,
    "time is limited": _time,
    "nothing is left for the next worker": _leaves_nothing,
    "no file can be looked up or dropped from memory": _gets_nothing("is_remembered"),
    "no machine code can be brought along": _gets_nothing("brings_code"),
    "workers cannot wake each other": _gets_nothing("meets"),
}


def probe_promises(
    isolation: Isolation, limits: Limits, promises: Sequence[str] = tuple(PROMISES)
) -> dict[str, bool]:
    """Return each promise, and whether it held here; if its trial broke, it did not.

    Raise SandboxError if not even a worker starts.
    """
    token, held = secrets.token_hex(16), dict.fromkeys(promises, False)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nopeek-")))
        (folder / token).write_text("another submission", encoding="utf-8")
        os.environ["NOPEEK_PROBE"] = token
        stack.callback(os.environ.pop, "NOPEEK_PROBE")
        inet = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(b"\0" + token.encode())
        unix.listen()
        host = stack.enter_context(start_host(isolation, limits))
        probe = Probe(host, token, folder, (inet.getsockname()[1], token))
        probe.worker().close()
        for promise in promises:
            with contextlib.suppress(CallFailed, SandboxError, OSError, TypeError):
                held[promise] = PROMISES[promise](probe)
    return held


def _choose(name: str) -> Bubblewrap | ProcessPlus:
    """Return the isolation of that name. Raise SandboxError if this machine lacks what it needs."""
    if name == "process+" and landlock_version() < LEAST_LANDLOCK:
        raise SandboxError(
            "process+ needs version 3 of Landlock, which Linux has from 6.2 on and which this "
            "kernel does not offer: grade on another machine, or trust the code and choose "
            "`--isolation process`"
        )
    if name != "process+" and not shutil.which(BWRAP):
        raise SandboxError(
            "bubblewrap, the sandbox, is not installed: `sudo apt install bubblewrap`, "
            "or, in a container, choose `--isolation process+`"
        )
    try:
        world = find_world()
    except (OSError, subprocess.SubprocessError, ValueError, StopIteration):
        raise SandboxError(
            "the files that this Python needs were not found: use Python and NumPy from the system "
            "or from a virtual environment (`make setup`)"
        ) from None
    return (ProcessPlus if name == "process+" else Bubblewrap)(world)


def _complaint(isolation: Isolation) -> str:
    """Return the sandbox's own message when a worker does not start."""
    done = subprocess.run(
        isolation.command([isolation.python, "-s", "-S", "-B", "-c", "import json"]),
        env=isolation.environment(Path(tempfile.gettempdir())),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return lines[-1][:200] if lines else "no worker starts in it"


def isolation_for_grading(
    name: str, limits: Limits, held: Mapping[str, bool] | None = None
) -> Isolation:
    """Return the probed isolation; `auto` is bubblewrap. Raise SandboxError if it fails.

    `process` promises nothing, so it is used only if the user asks for it by name. held: promises
    that this process has already tested on this machine; they are not probed again.
    """
    if name == "process":
        return Process()
    if name not in ("auto", "bubblewrap", "process+"):
        raise SandboxError(
            f"there is no isolation {name!r}: choose bubblewrap, process+ or process"
        )
    if not sys.platform.startswith("linux") or os.uname().machine not in MACHINES:
        raise SandboxError(
            "sandboxes need Linux on x86-64 or ARM64: grade in a Linux container or WSL 2, "
            "or trust the code and choose `--isolation process`"
        )
    isolation = _choose(name)
    isolation.world.read_through()
    try:
        isolation.held = held = held or probe_promises(isolation, limits)
    except (CallFailed, SandboxError):
        raise SandboxError(
            f"{isolation.name} does not start here ({_complaint(isolation)}): it needs bubblewrap "
            "0.8 or newer and permission to make namespaces, so run as root, or on Ubuntu 24.04 or "
            "newer `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or, in a "
            "container, `--isolation process+`"
        ) from None
    if failed := [promise for promise in held if not held[promise]]:
        raise SandboxError(
            f"{isolation.name} does not hold on this machine, so nothing was graded; what failed: "
            f"{'; '.join(failed)}. Grade on another machine, or trust the code and choose "
            "`--isolation process`"
        )
    return isolation
