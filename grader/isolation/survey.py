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
from dataclasses import dataclass, field
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
    takes: a function's parameters, with "" in place of names that were not asked for.
    """

    name: str
    kind: str
    first: int
    last: int
    written: bool
    takes: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Survey:
    """The bindings of the names that were asked for, in order, and the lines that are left out.

    commands: those of IPython. broken: the first and last line of each part that is not Python,
    up to the end of its cell, and the line in which Python gives up. A source that cannot be parsed
    in time, or at all, is broken.
    """

    bindings: tuple[Binding, ...] = ()
    commands: tuple[int, ...] = ()
    broken: tuple[tuple[int, int, int], ...] = ()

    def last(self, name: str) -> Binding | None:
        """Return the binding that counts, or None without one.

        That is the last definition that is written, otherwise the last import, otherwise a stub.
        """
        mine = [one for one in self.bindings if one.name == name and one.kind != "module"]
        made = [one for one in mine if one.written and one.kind != "import"]
        written = [one for one in mine if one.written]
        return next(reversed(made or written or mine), None)


@functools.lru_cache(maxsize=64)
def survey(source: str, names: tuple[str, ...]) -> Survey:
    """Return which of these names a file or a notebook's text binds, outside of functions."""
    lines = source.count("\n") + source.count("\r") + 1
    answer = _ask(["survey", source, names])
    if answer is None:
        return Survey(broken=((1, lines, 1),))
    rows, takes = _rows(answer, "found", 5), _rows(answer, "takes", None)
    bindings = [
        Binding(names[name], KINDS[kind], first, last, bool(written), _named(numbers, names))
        for (name, kind, first, last, written), numbers in zip(rows, takes)
        if 0 <= name < len(names) and 0 <= kind < len(KINDS) and 0 < first <= last <= lines
    ]
    commands = (first for first, _ in _rows(answer, "commands", 2) if 0 < first <= lines)
    rows = _rows(answer, "broken", 3)
    broken = [(a, b, at) for a, b, at in rows if 0 < a <= at <= b <= lines]
    return Survey(tuple(bindings), tuple(commands), tuple(broken))


def _named(numbers: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[number] if 0 <= number < len(names) else "" for number in numbers)


@functools.lru_cache(maxsize=64)
def find_uses(source: str, names: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return which of these names each one looks up, directly or through others of the source.

    A name may be that of a module, as in `from exercises.step04_softmax import softmax`.
    """
    rows = _rows(_ask(["uses", source, names]) or {}, "uses", None)
    return {
        name: frozenset(names[number] for number in row if 0 <= number < len(names))
        for name, row in zip(names, rows)
    }


def _rows(answer: Any, key: str, length: int | None) -> list[list[int]]:
    """Return the lists of numbers in an answer, and nothing else that it may hold."""
    rows = answer.get(key) if isinstance(answer, dict) else None
    return [
        row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list)
        and length in (None, len(row))
        and all(isinstance(number, int) for number in row)
    ]


def _ask(request: Sequence[Any]) -> Any:
    """Return the answer, or None if there is none in time."""
    with _LOCK:
        try:
            return _exchange(json.dumps(request) + "\n")
        except (OSError, ValueError, RecursionError):
            stop()
            return None


def _exchange(line: str) -> Any:
    """Return what the surveyor answers. Raise OSError or ValueError if that is nothing."""
    process = _start()
    assert process.stdin is not None
    assert process.stdout is not None
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    try:
        process.stdin.write(line)
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


def stop() -> None:
    """End this process's own surveyor; those of a parent process are the parent's."""
    mine = _running.pop(os.getpid(), None)
    if mine is not None:
        mine.kill()
        for pipe in (mine.stdin, mine.stdout):
            if pipe is not None:
                pipe.close()
        mine.wait()


atexit.register(stop)
