"""Parse sources and say what they consist of. Nothing is executed.

In a process of its own, `main` answers one line of JSON with another.
"""

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import cells
from .lockdown import set_resource_limits, set_timer

MAX_FOUND = 20_000  # bindings
MAX_MIB = 1024
MAX_SECONDS = 5.0  # of processor time, for one answer
LONGEST = 24 * 3600.0  # seconds, for all


def outline(source: str) -> list[Any]:
    """Return what a source consists of: the fields of `grader.isolation.survey.Survey`.

    A binding is a list of the fields of `Binding` there.
    """
    parts = [*cells.read_cells(source)]
    statements = [one for cell in parts for one in cell.statements]
    bindings: list[list[Any]] = []
    reads: dict[str, set[str]] = {}
    for statement in statements:
        bound = [*_find(statement)]
        read = _find_read(statement, bound) if bound else set[str]()
        for name, kind, node in bound:
            bindings.append([name, kind, *_lines(statement, node), *_describe(node)])
            reads.setdefault(name, set()).update(read)
        if len(bindings) > MAX_FOUND:
            break
    nodes = (node for statement in statements for node in ast.walk(statement))
    loops = (node for node in nodes if isinstance(node, (ast.For, ast.While)))
    return [
        bindings,
        {name: [*read] for name, read in reads.items()},
        [[node.lineno, node.end_lineno or node.lineno] for node in loops],
        [line for cell in parts for line in cell.commands],
        [[cell.broken[0], cell.last, cell.broken[1]] for cell in parts if cell.broken[0]],
    ]


def _describe(node: ast.AST) -> list[Any]:
    """Return whether a function is written, its first line below the docstring, and more.

    That is whether it has code beside its stub, and its parameters. Anything else is written.
    """
    if not isinstance(node, cells.FUNCTIONS):
        return [True, 0, False, []]
    has_text = ast.get_docstring(node, clean=False) is not None
    code, stub = node.body[has_text:], cells.find_stub_line(node)
    other = [one for one in code if one.lineno != stub and not isinstance(one, ast.Pass)]
    begin = code[0].lineno if code else node.end_lineno or 0
    of = node.args
    every = (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg)
    parameters = [one.arg for one in every if one is not None]
    return [not cells.is_stub(node), begin, bool(other), parameters]


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


def main() -> None:
    """Answer until the input ends, or an answer takes too long.

    The judge keeps no such limit: if it is short of memory, it cannot start a thread to watch.
    """
    set_resource_limits(MAX_MIB, LONGEST)
    for line in sys.stdin:
        set_timer("ITIMER_PROF", MAX_SECONDS)
        sys.stdout.write(json.dumps(outline(json.loads(line))) + "\n")
        sys.stdout.flush()
        set_timer("ITIMER_PROF", 0)
