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

MAX_FOUND = 20_000  # bindings
MAX_MEMORY = 2**30  # bytes
MAX_SECONDS = 5.0  # of processor time, for one answer


def outline(source: str) -> list[Any]:
    """Return what a source consists of: the fields of `grader.isolation.survey.Survey`.

    A binding is a name, its kind, and the first and last line of the statement; of a function also
    how far it is written, and its parameters.
    """
    parts = [*cells.read_cells(source)]
    statements = [one for cell in parts for one in cell.statements]
    nodes = [node for statement in statements for node in ast.walk(statement)]
    bindings: list[list[Any]] = []
    reads: dict[str, set[str]] = {}
    for statement in statements:
        bound = [*_find(statement)]
        read = _find_read(statement, bound) if bound else set[str]()
        for name, kind, node in bound:
            about = [_describe(node)] if isinstance(node, cells.FUNCTIONS) else []
            bindings.append([name, kind, *_lines(statement, node), *about])
            reads.setdefault(name, set()).update(read)
        if len(bindings) > MAX_FOUND:
            break
    loops = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
    return [
        bindings,
        {name: [*read] for name, read in reads.items()},
        [[node.lineno, node.end_lineno or node.lineno] for node in loops],
        [*_find_unknown(nodes).items()],
        [line for cell in parts for line in cell.commands],
        [[cell.broken[0], cell.last, cell.broken[1]] for cell in parts if cell.broken[0]],
    ]


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Any]:
    """Return whether a function is written, its first line below the docstring, and more.

    That is the line of its stub, or 0, whether it has code beside that, and its parameters.
    """
    has_text = ast.get_docstring(node, clean=False) is not None
    code, stub = node.body[has_text:], cells.find_stub_line(node)
    other = [one for one in code if one.lineno != stub and not isinstance(one, ast.Pass)]
    begin = code[0].lineno if code else node.end_lineno or 0
    of = node.args
    every = (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg)
    parameters = [one.arg for one in every if one is not None]
    return [not cells.is_stub(node), begin, stub, bool(other), parameters]


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


def _find_read(statement: ast.stmt, bound: Sequence[tuple[str, str, ast.AST]]) -> set[str]:
    """Return the names that a statement looks up, and the modules that it imports from.

    A function's own variables and parameters are not looked up outside of it.
    """
    modules = {name for name, kind, _ in bound if kind == "module"}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    own = set[str]()
    if isinstance(statement, cells.FUNCTIONS):
        own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return modules | {node.id for node in names} - own


def _find(statement: ast.stmt) -> Iterator[tuple[str, str, ast.AST]]:
    """Yield the names that a statement binds, and the modules that it imports from."""
    modules = set()
    for name, node in cells.find_bound(statement):
        kind = "value"
        if isinstance(node, (*cells.FUNCTIONS, ast.ClassDef)):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
        elif isinstance(node, ast.ImportFrom):
            kind = "import"
            modules |= {node.module} if node.module else set()
        elif isinstance(node, ast.Import):
            kind = "import"
            modules |= {alias.name for alias in node.names}
        yield name, kind, node
    yield from ((module, "module", statement) for module in modules)


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
