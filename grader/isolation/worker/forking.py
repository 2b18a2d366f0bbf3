"""Fork workers, and end each with all that it started: children, orphans, a fork bomb.

A worker behind walls cannot fork at all: see `allowed_calls` and `lockdown`.
"""

import contextlib
import functools
import gc
import json
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from .imports import PACKAGE, hold_library
from .lockdown import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    Walls,
    set_process_option,
    set_resource_limits,
)
from .session import Session

COMMAND = struct.Struct(">cQ")
Work = Callable[[socket.socket], None]  # a worker's life, on its channel to the judge


def _work(channel: socket.socket, memory_mib: int, seconds: float, walls: Walls | None) -> None:
    sys.argv[:] = sys.orig_argv[:] = [PACKAGE]
    null = os.open(os.devnull, os.O_RDWR)  # no input, and no output past Python's own streams
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    set_resource_limits(memory_mib, seconds, 0 if walls else None)
    if walls:
        walls.close()
    Session(channel).serve()


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


def _end(pid: int, live: dict[int, str]) -> None:
    """Kill a worker with all its descendants, orphans included, and wait for their end."""
    folder = live.pop(pid, None)
    doomed = [pid]
    while doomed:
        family = [*doomed]
        for one in family:
            family += _list_children(one)
        for one in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        for one in doomed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one, 0)
        doomed = [one for one in _list_children(os.getpid()) if one not in live]
    if folder and folder != ".":
        with contextlib.suppress(RecursionError):  # the judge removes the rest at the end
            shutil.rmtree(folder, ignore_errors=True)


def _be_parent(control: socket.socket, work: Work, walled: bool) -> None:
    """Fork a worker for every socket that arrives, and end workers when the judge asks.

    Each has a folder of its own. Behind walls all share one, and none can write.
    """
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
            folder = "." if walled else tempfile.mkdtemp(dir=".")
            number = os.fork()
            if not number:
                _be_worker(control, descriptors[0], folder, work)
            live[number] = folder
            os.close(descriptors[0])
        control.sendall(COMMAND.pack(command, number))
    for pid in list(live):
        _end(pid, live)


def _be_worker(control: socket.socket, descriptor: int, folder: str, work: Work) -> NoReturn:
    """Be a worker to the end, and never continue as a second parent."""
    try:
        control.close()
        os.setsid()
        set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
        _enter(folder)
        work(socket.socket(fileno=descriptor))
    finally:
        os._exit(0)


def serve(
    mode: str, descriptor: str, packages: str, memory_mib: str, seconds: str, walls_json: str = ""
) -> None:
    """Serve as `parent` of workers, or as one worker (`serve`; `share` on Windows).

    packages: where `__main__` found NumPy. walls_json: the rights that a worker must give up, in
    JSON.
    """
    if mode == "share":  # the socket arrives through standard input
        number = vars(socket)["fromshare"](sys.stdin.buffer.read()).detach()
    else:
        number = int(descriptor)
    walls = Walls(**json.loads(walls_json)) if walls_json else None
    if walls:
        walls.enter()
        hold_library()
    work = functools.partial(_work, memory_mib=int(memory_mib), seconds=float(seconds), walls=walls)
    channel = socket.socket(fileno=number)
    if mode == "parent":
        set_process_option(PR_SET_CHILD_SUBREAPER, 1)
        channel.sendall(COMMAND.pack(b"r", os.getpid()))
        _be_parent(channel, work, walls is not None)
    else:
        _enter("." if walls else tempfile.mkdtemp(dir="."))
        channel.sendall(COMMAND.pack(b"r", os.getpid()))
        work(channel)
