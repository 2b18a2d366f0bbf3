"""Parse sources and say which names they bind in which lines. Nothing is executed.

In a process of its own, `main` answers one line of JSON with another.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence

from . import cells

MAX_FOUND = 20_000
MAX_MEMORY = 2**30  # bytes


def survey(source: str, names: Sequence[str]) -> tuple[list[list[int]], list[int]]:
    """Return what binds these names, and the lines of statements that are not Python.

    Each binding is the number of the name, the kind's, first and last line of its statement, and
    whether it is written; a stub is not.
    """
    found: list[list[int]] = []
    broken: list[int] = []
    places = {name: number for number, name in enumerate(names)}
    for cell in cells.read_cells(source):
        broken += [cell.broken] if cell.broken else []
        for statement in cell.statements:
            for name, kind, node in _find(statement):
                if name in places and len(found) < MAX_FOUND:
                    written = not cells.is_stub(node)
                    found.append([places[name], kind, *_lines(statement, node), written])
    return found, broken


def _find(statement: ast.stmt) -> Iterator[tuple[str, int, ast.AST]]:
    """Yield the names that a statement binds, and the modules that it imports from."""
    modules = set()
    for name, node in cells.find_bound(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield name, 0, node
        elif isinstance(node, ast.ClassDef):
            yield name, 1, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield name, 2, node
            from_ = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules |= {*(from_ or [alias.name for alias in getattr(node, "names", ())])}
        else:
            yield name, 3, node
    yield from ((module, 4, statement) for module in modules)


def _lines(statement: ast.stmt, node: ast.AST) -> tuple[int, int]:
    """Return the first and the last line of a definition with its decorators, or a statement."""
    one = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else statement
    decorators = getattr(one, "decorator_list", [])
    return min([one.lineno, *(d.lineno for d in decorators)]), one.end_lineno or one.lineno


def main() -> None:
    """Answer until the input ends."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    for line in sys.stdin:
        source, names = json.loads(line)
        sys.stdout.write(json.dumps(survey(source, names)) + "\n")
        sys.stdout.flush()
