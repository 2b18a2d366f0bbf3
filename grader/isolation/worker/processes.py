"""Fork workers, and end them with all processes that they started."""

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from . import library
from .imports import PACKAGE
from .lockdown import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    Walls,
    set_process_option,
    set_resource_limits,
    silence,
)
from .session import Session

COMMAND = struct.Struct(">cQ")
U32 = struct.Struct(">I")


class Terms(NamedTuple):
    """The limits of a worker: memory for a call, seconds for a step, and the walls around it."""

    memory_mib: int
    seconds: float
    walls: Walls | None


def _serve(channel: socket.socket, terms: Terms) -> None:
    sys.argv[:] = sys.orig_argv[:] = [PACKAGE]
    silence()
    set_resource_limits(terms.memory_mib, terms.seconds, 0 if terms.walls else None)
    if terms.walls:
        terms.walls.close()
    Session(channel).serve()


def _make_folder(walls: Walls | None) -> str:
    """Make a worker's own working directory; behind walls all share one, and none can write."""
    return "." if walls else tempfile.mkdtemp(dir=".")


def _enter(folder: str) -> None:
    """Change to a worker's working directory."""
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(Path.cwd())


def _list_children(pid: int) -> list[int]:
    """Return the direct children of a process, from /proc."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            text = (task / "children").read_text(encoding="ascii")
            found += map(int, text.split())
    return found


def _list_family(pids: Sequence[int]) -> list[int]:
    found = list(pids)
    for pid in found:
        found += _list_children(pid)
    return found


def _end(pid: int, live: dict[int, str]) -> None:
    """Kill a worker with all its descendants, orphans included, and wait for their end."""
    folder = live.pop(pid, None)
    doomed = [pid]
    while doomed:
        for one in _list_family(doomed):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        for one in doomed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one, 0)
        doomed = [one for one in _list_children(os.getpid()) if one not in live]
    if folder and folder != ".":
        with contextlib.suppress(RecursionError):  # the judge removes the rest at the end
            shutil.rmtree(folder, ignore_errors=True)


def _be_parent(control: socket.socket, terms: Terms) -> None:
    """Fork a worker for every socket that arrives, and end workers when the judge asks."""
    live: dict[int, str] = {}
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, COMMAND.size, 1)
        if len(message) < COMMAND.size:
            break
        command, number = COMMAND.unpack(message)
        if command == b"k":
            _end(number, live)
        else:
            folder = _make_folder(terms.walls)
            number = os.fork()
            if not number:
                _be_worker(control, descriptors[0], folder, terms)
            live[number] = folder
            os.close(descriptors[0])
        control.sendall(COMMAND.pack(command, number))
    for pid in list(live):
        _end(pid, live)


def _be_worker(control: socket.socket, descriptor: int, folder: str, terms: Terms) -> NoReturn:
    """Be a worker to the end, and never continue as a second parent."""
    try:
        control.close()
        os.setsid()
        set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
        _enter(folder)
        _serve(socket.socket(fileno=descriptor), terms)
    finally:
        os._exit(0)


def _take_shared() -> int:
    """Return the socket that arrives through standard input, as it does on Windows."""
    size = U32.unpack(sys.stdin.buffer.read(4))[0]
    data = sys.stdin.buffer.read(size)
    from_share = vars(socket)["fromshare"]
    descriptor: int = from_share(data).detach()
    return descriptor


def serve(
    mode: str,
    descriptor: str,
    packages: str,
    memory_mib: str,
    seconds: str,
    walls_json: str = "",
) -> None:
    """Serve as `parent` of workers, or as one worker (`serve`; `share` on Windows).

    packages: where `__main__` found NumPy. walls_json: the rights that a worker must give up, in
    JSON.
    """
    number = _take_shared() if mode == "share" else int(descriptor)
    walls = Walls(**json.loads(walls_json)) if walls_json else None
    if walls:
        walls.enter()
        library.hold()
    terms = Terms(int(memory_mib), float(seconds), walls)
    if mode == "parent":
        set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    else:
        _enter(_make_folder(walls))
    channel = socket.socket(fileno=number)
    channel.sendall(COMMAND.pack(b"r", os.getpid()))
    (_be_parent if mode == "parent" else _serve)(channel, terms)
