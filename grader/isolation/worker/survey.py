"""Parse sources and say what they consist of. Nothing is executed.

In a process of its own, `main` answers one line of JSON with another.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import cells
from .cells import KINDS

MAX_FOUND = 20_000  # bindings
MAX_MEMORY = 2**30  # bytes
MAX_SECONDS = 5.0  # of processor time, for one answer


def outline(source: str) -> dict[str, list[Any]]:
    """Return what a source consists of; each name is the number of one in `names`.

    bindings: what binds a name outside of functions: name, number of its kind, first and last line
    of the statement; of a function also how far it is written, and its parameters. reads: a bound
    name, and those that its statement looks up. loops: first and last lines. unknown: names that
    are read and bound nowhere, each with its first line. commands: lines of IPython. broken: first
    and last lines of parts that are not Python, and the line in which Python gives up.
    """
    parts = [*cells.read_cells(source)]
    statements = [one for cell in parts for one in cell.statements]
    nodes = [node for statement in statements for node in ast.walk(statement)]
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    found: dict[str, list[Any]] = {"bindings": [], "reads": []}
    for statement in statements:
        bound = [*_find(statement)]
        for name, kind, node in bound:
            rest = []
            if isinstance(node, cells.FUNCTIONS):
                rest = [*_describe(node), *map(number, _list_parameters(node))]
            found["bindings"].append([number(name), kind, *_lines(statement, node), *rest])
        read = [number(name) for name in _find_read(statement, bound)] if bound else []
        found["reads"] += [[number(name), *read] for name, _, _ in bound]
        if len(found["bindings"]) > MAX_FOUND:
            break
    return {
        **found,
        "loops": [
            [node.lineno, node.end_lineno or node.lineno]
            for node in nodes
            if isinstance(node, (ast.For, ast.While))
        ],
        "unknown": [[number(name), line] for name, line in _find_unknown(nodes).items()],
        "commands": [[line] for cell in parts for line in cell.commands],
        "broken": [[c.broken[0], c.last, c.broken[1]] for c in parts if c.broken[0]],
        "names": [*numbers],
    }


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    """Return whether a function is written, its first line below the docstring, and more.

    That is the line of its stub, or 0, and whether it has code beside that.
    """
    has_text = ast.get_docstring(node, clean=False) is not None
    code, stub = node.body[has_text:], cells.find_stub_line(node)
    other = [one for one in code if one.lineno != stub and not isinstance(one, ast.Pass)]
    begin = code[0].lineno if code else node.end_lineno or 0
    return [not cells.is_stub(node), begin, stub, bool(other)]


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


def _find_read(statement: ast.stmt, bound: Sequence[tuple[str, int, ast.AST]]) -> set[str]:
    """Return the names that a statement looks up, and the modules that it imports from.

    A function's own variables and parameters are not looked up outside of it.
    """
    modules = {name for name, kind, _ in bound if KINDS[kind] == "module"}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    own = set[str]()
    if isinstance(statement, cells.FUNCTIONS):
        own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return modules | {node.id for node in names} - own


def _find(statement: ast.stmt) -> Iterator[tuple[str, int, ast.AST]]:
    """Yield the names that a statement binds, and the modules that it imports from."""
    modules = set()
    for name, node in cells.find_bound(statement):
        kind = "value"
        if isinstance(node, (*cells.FUNCTIONS, ast.ClassDef)):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
        elif isinstance(node, ast.ImportFrom):
            kind = "import"
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            kind = "import"
            modules |= {alias.name for alias in node.names}
        yield name, KINDS.index(kind), node
    yield from ((module, KINDS.index("module"), statement) for module in modules)


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
        sys.stdout.write(json.dumps(outline(json.loads(line))) + "\n")
        sys.stdout.flush()
        _limit_time(0)
