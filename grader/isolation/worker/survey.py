"""Parse sources and say which names they bind in which lines. Nothing is executed.

In a process of its own, `main` answers one line of JSON with another.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import cells

MAX_FOUND = 20_000
MAX_MEMORY = 2**30  # bytes
MAX_SECONDS = 5.0  # of processor time, for one answer
MODULE = 4  # the kind of a module that is imported from


def survey(source: str, names: Sequence[str]) -> dict[str, list[list[int]]]:
    """Return what binds these names, and the lines that are left out because they are not Python.

    Each binding is the number of the name, the kind's, first and last line of its statement, and
    whether it is written; a stub is not. takes: for each binding the numbers of its parameters'
        broken: first and last lines, and the line in which Python gives up.
    """
    found: list[list[int]] = []
    commands: list[list[int]] = []
    broken: list[list[int]] = []
    places = {name: number for number, name in enumerate(names)}
    for cell in cells.read_cells(source):
        commands += [[line, line] for line in cell.commands]
        first, at = cell.broken
        broken += [[first, cell.last, at]] if first else []
        for statement in cell.statements:
            for name, kind, node in _find(statement):
                if name in places and len(found) < MAX_FOUND:
                    written = not cells.is_stub(node)
                    found.append([places[name], kind, *_lines(statement, node), written])
    return {"found": found, "commands": commands, "broken": broken}


def find_uses(source: str, names: Sequence[str]) -> dict[str, list[list[int]]]:
    """Return which of these names each of them looks up, directly or through other names."""
    reads: dict[str, set[str]] = {}
    for cell in cells.read_cells(source):
        for statement in cell.statements:
            bound = {name for name, _ in cells.find_bound(statement)}
            if bound:
                read = _find_read(statement)
                for name in bound:
                    reads.setdefault(name, set()).update(read)
    return {"uses": [_follow(name, names, reads) for name in names]}


def outline(source: str, _: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return what a source consists of; each name is the number of one in `names`.

    bound: each name that is bound outside of functions. functions: name, first and last line, first
    line below the docstring, line of the stub, whether there is other code, whether it is written,
    and parameters. loops: first and last lines. unknown: names that are read and bound nowhere,
    each with its first line.
    """
    statements = [one for cell in cells.read_cells(source) for one in cell.statements]
    bound = [pair for statement in statements for pair in cells.find_bound(statement)]
    nodes = [node for statement in statements for node in ast.walk(statement)]
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    return {
        "bound": [[number(name)] for name, _ in bound],
        "functions": [
            [number(name), *_describe(node), *map(number, _list_parameters(node))]
            for name, node in bound
            if isinstance(node, cells.FUNCTIONS)
        ],
        "loops": [
            [node.lineno, node.end_lineno or node.lineno]
            for node in nodes
            if isinstance(node, (ast.For, ast.While))
        ],
        "unknown": [[number(name), line] for name, line in _find_unknown(nodes).items()],
        "names": [*numbers],
    }


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    """Return the lines of a function, and how far it is written."""
    has_text = ast.get_docstring(node, clean=False) is not None
    code, stub = node.body[has_text:], cells.find_stub_line(node)
    other = [one for one in code if one.lineno != stub and not isinstance(one, ast.Pass)]
    begin = code[0].lineno if code else node.end_lineno or 0
    return [*_lines(node, node), begin, stub, bool(other), not cells.is_stub(node)]


def _list_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    of = node.args
    every = (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg)
    return [one.arg for one in every if one is not None]


def _find_unknown(nodes: Sequence[ast.AST]) -> dict[str, int]:
    """Return the names that are read and bound nowhere, not by Python either, with their lines."""
    read: dict[str, int] = {}
    known = {*vars(builtins), "__file__", "display", "get_ipython"}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read[node.id] = min(node.lineno, read.get(node.id, node.lineno))
        elif isinstance(node, ast.alias) and node.name == "*":
            return {}
        else:
            known |= _list_named(node)
    return {name: line for name, line in read.items() if name not in known}


def _list_named(node: ast.AST) -> set[str]:
    """Return the names that a node binds itself: in a definition, an import, a pattern."""
    if isinstance(node, ast.alias):
        return {node.asname or node.name.partition(".")[0]}
    named = (getattr(node, field, None) for field in ("id", "name", "arg", "rest"))
    return {name for name in named if isinstance(name, str)}


def _find_read(statement: ast.stmt) -> set[str]:
    """Return the names that a statement looks up, and the modules that it imports from.

    A function's own variables and parameters are not looked up outside of it.
    """
    read = {module for module, kind, _ in _find(statement) if kind == MODULE}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    own = set[str]()
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return read | {node.id for node in names} - own


def _follow(name: str, names: Sequence[str], reads: dict[str, set[str]]) -> list[int]:
    """Return the numbers of the names that this one leads to."""
    reached, left = set[str](), [name]
    while left:
        new = reads.get(left.pop(), set()) - reached
        reached |= new
        left += new
    return [number for number, one in enumerate(names) if one in reached and one != name]


def _find(statement: ast.stmt) -> Iterator[tuple[str, int, ast.AST]]:
    """Yield the names that a statement binds, and the modules that it imports from."""
    modules = set()
    for name, node in cells.find_bound(statement):
        if isinstance(node, cells.FUNCTIONS):
            yield name, 0, node
        elif isinstance(node, ast.ClassDef):
            yield name, 1, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield name, 2, node
            from_ = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules |= {*(from_ or [alias.name for alias in getattr(node, "names", ())])}
        else:
            yield name, 3, node
    yield from ((module, MODULE, statement) for module in modules)


def _lines(statement: ast.stmt, node: ast.AST) -> tuple[int, int]:
    """Return the first and the last line of a definition with its decorators, or a statement."""
    one = node if isinstance(node, cells.FUNCTIONS) else statement
    decorators = getattr(one, "decorator_list", [])
    return min([one.lineno, *(d.lineno for d in decorators)]), one.end_lineno or one.lineno


def _limit_time(seconds: float) -> None:
    """End this process after so much processor time; 0 takes the limit back.

    The limit is not the judge's: a judge that is short of memory cannot start a thread to watch.
    """
    with contextlib.suppress(AttributeError):  # Windows has no such clock
        signal.setitimer(signal.ITIMER_PROF, seconds)


def main() -> None:
    """Answer until the input ends."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    for line in sys.stdin:
        _limit_time(MAX_SECONDS)
        what, source, names = json.loads(line)
        known: dict[str, Callable[[str, Sequence[str]], dict[str, Any]]]
        known = {"survey": survey, "uses": find_uses, "outline": outline}
        answer = known[what](source, names)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        _limit_time(0)
