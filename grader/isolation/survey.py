"""Ask what a source consists of, without running or parsing it here, and where its lines stand.

A process of its own parses. It answers lines and names only, and this module bounds them. A line
stands in a file, or in a cell of a notebook, whose text has a mark above each.
"""

import atexit
import bisect
import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.isolation.worker.cells import CELL, KINDS, is_notebook, split_lines
from grader.steps.registry import Step
from grader.steps.stubs import stub_of

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from worker.cells import main; main()"
MAX_REPLY = 2**21
MAX_NAME = 80  # characters
MARK = CELL + " {cell}"  # the line above a cell in the text of a notebook
_PLACE = re.compile(r".{1,80}, cell \d{1,6}|cell In\[\d{1,6}\]")  # in a mark


@dataclass(frozen=True)
class Binding:
    """A name, and the lines `first` to `last`, counted from 1, of the statement that binds it.

    kind: one of KINDS; with `module`, the name is of a module that is imported from. written: False
    for a function that still raises NotImplementedError, as its stub. Of a function, begin is the
    first line below the docstring, and begun whether it has code beside its stub.
    """

    name: str
    kind: str
    first: int
    last: int
    written: bool = True
    begin: int = 0
    begun: bool = False
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Survey:
    """The parts of a source, as far as it is Python.

    bindings: of names outside of functions, in order. reads: the names that each of these looks up
    there, or the modules that it comes from. loops: first and last lines. commands: the lines of
    IPython. broken: the first and last line of each part that is not Python, up to the end of its
    cell, and the line in which Python gives up. A source that cannot be parsed in time, or at all,
    is broken.
    """

    bindings: tuple[Binding, ...] = ()
    reads: Mapping[str, Collection[str]] = field(default_factory=dict)
    loops: tuple[tuple[int, int], ...] = ()
    commands: tuple[int, ...] = ()
    broken: tuple[tuple[int, int, int], ...] = ()

    @property
    def functions(self) -> list[Binding]:
        """Return the functions that stand outside of functions."""
        return [one for one in self.bindings if one.kind == "function"]

    def bound(self, name: str) -> list[Binding]:
        """Return what binds a name in the source."""
        return [one for one in self.bindings if one.name == name and one.kind != "module"]

    def is_written(self, name: str, notebook: bool) -> bool | None:
        """Return whether the binding of a name that counts is written; None without any.

        In a file that is the last one, and in a notebook a stub replaces nothing. An import of all
        names may bind this one.
        """
        mine = self.bound(name)
        if not mine or (notebook and any(one.written for one in mine)):
            return True if mine else None
        return [one for one in self.bindings if one.name in (name, "*")][-1].written

    def last(self, name: str) -> Binding | None:
        """Return the binding that counts, or None without one.

        That is the last definition that is written, otherwise the last import, otherwise a stub.
        """
        mine = self.bound(name)
        made = [one for one in mine if one.written and one.kind != "import"]
        written = [one for one in mine if one.written]
        return next(reversed(made or written or mine), None)

    def around(self, line: int) -> Binding | None:
        """Return the function that a line is in, or None."""
        return next((one for one in self.functions if one.first <= line <= one.last), None)

    def uses(self, name: str) -> set[str]:
        """Return the names and modules that a name looks up, directly or through others."""
        reached, left = set[str](), [name]
        while left:
            new = {*self.reads.get(left.pop(), ())} - reached
            reached |= new
            left += new
        return reached - {name}


@functools.lru_cache(maxsize=32)
def survey(source: str) -> Survey:
    """Return what a file or a notebook's text consists of, as far as an answer can be true."""
    most, found = len(split_lines(source)), []
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # an answer of another form
        bindings, reads, loops, commands, broken = _ask(source)
        for name, kind, first, last, written, begin, begun, takes in bindings:
            about = bool(written), int(begin), bool(begun), tuple(map(str, takes))
            one = Binding(str(name), str(kind), int(first), int(last), *about)
            known = one.kind in KINDS and 0 < len(one.name) <= MAX_NAME
            if known and 0 < one.first <= one.last <= most:
                found.append(one)
        return Survey(
            tuple(found),
            {str(name): {*map(str, read)} for name, read in dict(reads).items()},
            tuple((int(a), int(b)) for a, b in loops if 0 < a <= b <= most),
            tuple(int(line) for line in commands if 0 < line <= most),
            tuple((int(a), int(b), int(at)) for a, b, at in broken if 0 < a <= at <= b <= most),
        )
    return Survey(broken=((1, most, 1),))


def is_unfinished(source: str, step: Step) -> bool:
    """Return whether a function of the step is still a stub."""
    return False in _list_written(source, step)


def is_untouched(source: str, step: Step) -> bool:
    """Return whether it has functions of the step, and none of these has been written yet.

    What is not Python may be one that has.
    """
    return source == stub_of(step) or _list_written(source, step) == {False}


def _list_written(source: str, step: Step) -> set[bool | None]:
    """Return whether the functions that the source has of the step are written."""
    if "NotImplementedError" not in source:
        return {True}
    found = survey(source)
    known = is_notebook(source)
    written = {found.is_written(function.name, known) for function in step.functions} - {None}
    return written | {True} if found.broken and not known else written


_LOCK = threading.Lock()
_running: list[subprocess.Popen[str]] = []


def _ask(source: str) -> Any:
    """Return the answer of this process's own surveyor, or None if there is none in time."""
    with _LOCK:
        try:
            if not _running or _running[-1].poll() is not None:
                process = subprocess.Popen(  # it ends with its input
                    [sys.executable, "-I", "-S", "-B", "-c", PROGRAM, str(Path(__file__).parent)],
                    env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    encoding="utf-8",
                )
                _running.append(process)
            question, answer = _running[-1].stdin, _running[-1].stdout
            assert question is not None
            assert answer is not None
            question.write(json.dumps(source) + "\n")
            question.flush()
            return json.loads(answer.readline(MAX_REPLY))
        except (OSError, ValueError, RecursionError):
            stop()
            return None


def stop() -> None:
    """End this process's own surveyor."""
    while _running:
        with contextlib.suppress(OSError), _running.pop() as process:
            process.kill()


atexit.register(stop)


def find_spot(source: str, number: int, filename: str) -> tuple[str, int]:
    """Return the file, or the notebook's cell, and the number in it of a line; no line is 0."""
    if not 0 < number <= len(lines_of(source)):
        return "", 0
    marks = _find_marks(source)
    if before := bisect.bisect_left(marks, (number,)):
        above, cell = marks[before - 1]
        return cell, number - above
    return filename, number


def place(source: str, number: int, filename: str) -> tuple[str, str]:
    """Return the place of a source's line for a reader, and the line, or ("", "")."""
    where, line = find_spot(source, number, filename)
    return (f"{where}, line {line}", lines_of(source)[number - 1].strip()) if line else ("", "")


lines_of = functools.lru_cache(maxsize=2)(split_lines)


@functools.lru_cache(maxsize=2)
def _find_marks(source: str) -> list[tuple[int, str]]:
    """Return the number of each line that is a notebook's mark, with the cell that it names.

    A submitted file may forge them. It then says where its own lines are.
    """
    lines = enumerate(lines_of(source) if is_notebook(source) else (), 1)
    found = ((n, _PLACE.match(line, len(CELL) + 1)) for n, line in lines if line.startswith(CELL))
    return [(number, cell[0]) for number, cell in found if cell]


def forget_sources() -> None:
    """Forget what the last sources consist of."""
    for kept in (survey, lines_of, _find_marks):
        kept.cache_clear()


def from_notebook(source: str) -> bool:
    """Return whether a source was built from a notebook's cells."""
    return bool(_find_marks(source))


def find_left_open(source: str, name: str) -> tuple[str, str]:
    """Return the place and the text of the wrong line for which a function is left out, or ""."""
    lines = lines_of(source)
    for first, last, wrong in survey(source).broken if is_notebook(source) else ():
        if any(line.split("(")[0].split() == ["def", name] for line in lines[first - 1 : last]):
            return place(source, wrong, "")
    return "", ""
