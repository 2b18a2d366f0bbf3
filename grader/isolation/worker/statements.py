"""Compile a notebook's statements so that one that fails leaves the others as they are.

A notebook also holds trials. In a kernel a cell that fails loses nothing of the other cells, so a
trial class that needs torch must not cost the solutions here.
"""

from __future__ import annotations

import ast
import builtins
import dis
import itertools
import re
import sys
import warnings
from collections.abc import Collection, Sequence
from types import CodeType

# The first line of a source that was made from a notebook: the functions of its step, and the lines
# in which its cells begin, which no text in a cell can forge.
NOTEBOOK = "# a notebook: {functions} must not fail; its cells begin in lines {lines}"
_FIRST = re.compile(
    NOTEBOOK.format(functions="(?P<functions>[\\w, ]*)", lines="(?P<lines>(?:\\d{1,6}\\b ?)*)")
)
_BINDS = re.compile(
    r"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+(?P<defined>[^\W\d]\w*)"
    r"|(?:with _suppress\(Exception\): )?(?P<assigned>[^\W\d]\w*)[ \t]*(?=[:=](?!=)))",
    re.MULTILINE,
)
_MAY_FAIL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.Try, ast.With)
_REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def compile_text(source: str, file: str) -> CodeType:
    """Return the code of a source. Raise SyntaxError if it is not Python."""
    first = _FIRST.match(source)
    if first is None:
        return compile(source, file, "exec", dont_inherit=True)
    functions = first["functions"].split(", ")
    try:
        return _compile(source, file, functions)
    except _REFUSED:
        kept = _drop_broken(source, [int(line) for line in first["lines"].split()], functions)
        if kept == source:
            raise
    return _compile(kept, file, functions)


def _compile(source: str, file: str, functions: Collection[str]) -> CodeType:
    tree = ast.parse(source, file)
    last = {name: node for node in tree.body if (name := getattr(node, "name", "")) in functions}
    sure = {*last.values()}
    tree.body = [_let_fail(node, sure) for node in tree.body]
    return compile(tree, file, "exec", dont_inherit=True)


def _let_fail(node: ast.stmt, sure: Collection[ast.stmt]) -> ast.stmt:
    """Return a statement whose exceptions are ignored, if it is one that may fail.

    sure: the last definitions of the step's functions, which must not.
    """
    if not isinstance(node, _MAY_FAIL) or node in sure:
        return node
    ignore = ast.ExceptHandler(type=ast.Name("Exception", ast.Load()), name=None, body=[ast.Pass()])
    tried = ast.Try(body=[node], handlers=[ignore], orelse=[], finalbody=[])
    return ast.fix_missing_locations(ast.copy_location(tried, node))


def _drop_broken(source: str, starts: Sequence[int], functions: Collection[str]) -> str:
    """Return a notebook's source without the cells that are not Python.

    Those that seem to define what the step's functions need are kept, so that Python reports them.
    """
    lines = source.split("\n")
    bounds = [0, *(start - 1 for start in starts), len(lines)]
    cells = ["\n".join(lines[start:stop]) for start, stop in itertools.pairwise(bounds)]
    trees = [_try_to_parse(cell) for cell in cells]
    statements = [node for tree in trees if tree is not None for node in tree.body]
    missing = _find_missing(statements, functions)
    kept = [
        # Empty lines in its place, so that all others keep their numbers.
        cell if tree or not missing.isdisjoint(_list_bound(cell)) else "\n" * cell.count("\n")
        for cell, tree in zip(cells, trees)
    ]
    return "\n".join(kept)


def _list_bound(text: str) -> list[str]:
    """Return the names that a text seems to bind at its margin."""
    return [match["defined"] or match["assigned"] for match in _BINDS.finditer(text)]


def _try_to_parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "cell", "exec", dont_inherit=True)  # which refuses more than a parser
            return ast.parse(text)
    except _REFUSED:
        return None


def _find_missing(statements: Sequence[ast.stmt], functions: Collection[str]) -> set[str]:
    """Return the names that functions need, directly or through others, and that nothing binds."""
    imports = [node for node in statements if isinstance(node, ast.ImportFrom)]
    future = [node for node in imports if node.module == "__future__"]
    left = [_find_names([*future, node]) for node in statements]
    bound = {*dir(builtins)}.union(*(stored for stored, _ in left))
    for node in imports:
        if node.names[0].name == "*":
            bound |= {*dir(sys.modules.get(node.module or ""))}
    needed = {*functions}
    while more := [names for names in left if not needed.isdisjoint(names[0])]:
        left = [names for names in left if needed.isdisjoint(names[0])]
        needed = needed.union(*(loaded for _, loaded in more))
    return needed - bound


def _find_names(nodes: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Return the names that statements bind, and those that they or functions in them look up.

    Local names, and those of a class in its body, do not count.
    """
    top = compile(ast.Module(nodes, []), "statement", "exec", dont_inherit=True)
    stored: set[str] = set()
    loaded: set[str] = set()
    waiting = [top]
    for code in waiting:
        found = [(one.opname, one.argval) for one in dis.get_instructions(code)]
        mine = {name for does, name in found if does == "STORE_NAME"}
        stored |= {name for does, name in found if does == "STORE_GLOBAL"}
        stored |= mine if code is top else set()
        looked_up = {name for does, name in found if does in ("LOAD_NAME", "LOAD_GLOBAL")}
        loaded |= looked_up if code is top else looked_up - mine
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return stored, loaded
