"""Ask what names a source binds, and in which lines, without running or parsing it here.

A process of its own parses. It answers numbers only: this module checks that they are lines of the
source, and names that were asked for.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from worker.survey import main; main()"
KINDS = ("function", "class", "import", "value", "module")
SECONDS = 5.0
MAX_REPLY = 2**21


@dataclass(frozen=True)
class Binding:
    """A name, and the lines `first` to `last`, counted from 1, of the statement that binds it.

    kind: `function`, `class`, `import` or `value`; with `module`, the name is of a module that is
    imported from. written: False for a function that still raises NotImplementedError, as its stub.
    """

    name: str
    kind: str
    first: int
    last: int
    written: bool


@dataclass(frozen=True)
class Survey:
    """The bindings of the names that were asked for, in order, and the lines that are not Python.

    Of a cell with a broken line, only the part above it is known. A source that cannot be parsed in
    time, or at all, is broken in line 1.
    """

    bindings: tuple[Binding, ...] = ()
    broken: tuple[int, ...] = ()

    def last(self, name: str) -> Binding | None:
        """Return the binding that counts: the last written one, else the last; None without one."""
        mine = [one for one in self.bindings if one.name == name and one.kind != "module"]
        return next((one for one in mine[::-1] if one.written), mine[-1] if mine else None)


@functools.lru_cache(maxsize=64)
def survey(source: str, names: tuple[str, ...]) -> Survey:
    """Return which of these names a file or a notebook's text binds, outside of functions."""
    try:
        found, broken = _read(_ask([source, names]))
    except (OSError, ValueError, TypeError, RecursionError):
        _stop()
        return Survey(broken=(1,))
    lines = source.count("\n") + source.count("\r") + 1
    bindings = tuple(
        Binding(names[name], KINDS[kind], first, last, bool(written))
        for name, kind, first, last, written in found
        if 0 <= name < len(names) and 0 <= kind < len(KINDS) and 0 < first <= last <= lines
    )
    return Survey(bindings, tuple(line for line in broken if 0 < line <= lines))


def _read(reply: Any) -> tuple[list[list[int]], list[int]]:
    """Return the two lists. Raise ValueError unless they are lists of numbers."""
    found, broken = reply
    flat = [number for row in found for number in row] + broken
    if not all(isinstance(number, int) for number in flat):
        raise ValueError("not numbers")
    return found, broken


def _ask(request: Sequence[Any]) -> Any:
    """Return the answer. Raise OSError or ValueError if there is none in time."""
    with _LOCK:
        process = _start()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline(MAX_REPLY))
        finally:
            late.cancel()


_LOCK = threading.Lock()
_running: dict[int, subprocess.Popen[str]] = {}


def _start() -> subprocess.Popen[str]:
    """Return this process's own surveyor, which ends with its input."""
    mine = _running.get(os.getpid())
    if mine is None or mine.poll() is not None:
        mine = _running[os.getpid()] = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", PROGRAM, str(Path(__file__).parent)],
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
    return mine


def _stop() -> None:
    """End this process's own surveyor; those of a parent process are the parent's."""
    mine = _running.pop(os.getpid(), None)
    if mine is not None:
        mine.kill()
        for pipe in (mine.stdin, mine.stdout):
            if pipe is not None:
                pipe.close()
        mine.wait()


atexit.register(_stop)
