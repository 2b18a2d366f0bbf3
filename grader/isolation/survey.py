"""Ask what names a source binds, and in which lines, without running or parsing it here.

A process of its own parses. It answers lines and names only: this module checks that they are in
the source.
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

from grader.isolation.worker.cells import is_notebook
from grader.steps.registry import Step

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from worker.survey import main; main()"
KINDS = ("function", "class", "import", "value", "module")
MAX_REPLY = 2**21
MAX_NAMES = 2000  # of an outline
MAX_NAME = 80  # characters


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
    """The bindings of the names that were asked for, in order, and the lines that are left out.

    commands: those of IPython. broken: the first and last line of each part that is not Python,
    up to the end of its cell, and the line in which Python gives up. A source that cannot be parsed
    in time, or at all, is broken.
    """

    bindings: tuple[Binding, ...] = ()
    commands: tuple[int, ...] = ()
    broken: tuple[tuple[int, int, int], ...] = ()

    def is_written(self, name: str, notebook: bool) -> bool | None:
        """Return whether the binding of a name that counts is written; None without any.

        In a file that is the last one, and in a notebook a stub replaces nothing. An import of all
        names may bind this one.
        """
        mine = [one for one in self.bindings if one.name == name and one.kind != "module"]
        if not mine or (notebook and any(one.written for one in mine)):
            return True if mine else None
        return [one for one in self.bindings if one.name in (name, "*")][-1].written

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
    lines = _count_lines(source)
    answer = _ask(["survey", source, names])
    if answer is None:
        return Survey(broken=((1, lines, 1),))
    bindings = [
        Binding(names[name], KINDS[kind], first, last, bool(written))
        for name, kind, first, last, written in _rows(answer, "found", 5)
        if 0 <= name < len(names) and 0 <= kind < len(KINDS) and 0 < first <= last <= lines
    ]
    commands = (first for first, _ in _rows(answer, "commands", 2) if 0 < first <= lines)
    rows = _rows(answer, "broken", 3)
    broken = [(a, b, at) for a, b, at in rows if 0 < a <= at <= b <= lines]
    return Survey(tuple(bindings), tuple(commands), tuple(broken))


def is_unfinished(source: str, step: Step) -> bool:
    """Return whether a function of the step is still a stub."""
    return False in _list_written(source, step)


def is_untouched(source: str, step: Step) -> bool:
    """Return whether it has functions of the step, and none of these has been written yet.

    What is not Python may be one that has.
    """
    return _list_written(source, step) == {False}


def _list_written(source: str, step: Step) -> set[bool | None]:
    """Return whether the functions that the source has of the step are written."""
    if "NotImplementedError" not in source:
        return {True}
    found = survey(source, ("*", *(function.name for function in step.functions)))
    known = is_notebook(source)
    written = {found.is_written(function.name, known) for function in step.functions} - {None}
    return written | {True} if found.broken else written


@dataclass(frozen=True)
class Definition:
    """A function of a source that stands outside of functions.

    first, last: its lines, with decorators. begin: its first line below the docstring. stub_line:
    the line at which it raises NotImplementedError, as its stub does, or 0. begun: whether it has
    code beside that. written: whether it can return before that line.
    """

    name: str
    first: int
    last: int
    begin: int
    stub_line: int
    begun: bool
    written: bool
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Outline:
    """The parts of a source, as far as it is Python.

    bound: the names that are bound outside of functions, in order, a name that is defined twice
    twice. loops: first and last lines. unknown: the names that are read and bound nowhere, such as
    that of a module that is not imported, each with the first line that reads it.
    """

    bound: tuple[str, ...] = ()
    functions: tuple[Definition, ...] = ()
    loops: tuple[tuple[int, int], ...] = ()
    unknown: tuple[tuple[str, int], ...] = ()

    def around(self, line: int) -> Definition | None:
        """Return the function that a line is in, or None."""
        return next((one for one in self.functions if one.first <= line <= one.last), None)


@functools.lru_cache(maxsize=16)
def outline(source: str) -> Outline:
    """Return what a file or a notebook's text consists of; nothing if it cannot be parsed."""
    answer = _ask(["outline", source, ()])
    said = answer.get("names") if isinstance(answer, dict) else None
    said = said[:MAX_NAMES] if isinstance(said, list) else []
    names = [one if _is_name(one, source) else "" for one in said]
    lines = _count_lines(source)

    def name(number: int) -> str:
        return names[number] if 0 <= number < len(names) else ""

    functions = (
        Definition(name(at), first, last, begin, stub, bool(begun), bool(written), parameters)
        for row in _rows(answer, "functions", None)
        for at, first, last, begin, stub, begun, written, *more in [row][: len(row) >= 7]
        if 0 < first <= begin <= last <= lines and 0 <= stub <= last
        if "" not in (parameters := tuple(map(name, more))) and name(at)
    )
    return Outline(
        tuple(filter(None, (name(at) for (at,) in _rows(answer, "bound", 1)))),
        tuple(functions),
        tuple((a, b) for a, b in _rows(answer, "loops", 2) if 0 < a <= b <= lines),
        tuple((name(at), on) for at, on in _rows(answer, "unknown", 2) if name(at) and on <= lines),
    )


def _is_name(name: Any, source: str) -> bool:
    """Return whether what the surveyor says is a name of the source."""
    return (
        isinstance(name, str) and len(name) <= MAX_NAME and name.isidentifier() and name in source
    )


def _count_lines(source: str) -> int:
    return source.count("\n") + source.count("\r") + 1


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
    process.stdin.write(line)
    process.stdin.flush()
    return json.loads(process.stdout.readline(MAX_REPLY))


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
