"""Compile a notebook's statements so that one that fails leaves the others as they are.

A notebook also holds trials. In a kernel a cell that fails loses nothing of the other cells, so a
trial class that needs torch must not cost the solutions here.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection
from types import CodeType

# The first line of a source that was made from a notebook, with the functions of its step.
NOTEBOOK = "# a notebook: only these must not fail: "
_FIRST = re.compile(re.escape(NOTEBOOK) + r"([\w, ]*)\n")
_CELL = re.compile(r"^(?=# from [^\n]{0,200}cell )", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
_BINDS = re.compile(r"^[ \t]*(?:def[ \t]+|class[ \t]+)?([^\W\d]\w*)[ \t]*(?=[(:=])", re.MULTILINE)
_MAY_FAIL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.Try, ast.With)


def compile_text(source: str, file: str) -> CodeType:
    """Return the code of a source. Raise SyntaxError if it is not Python."""
    first = _FIRST.match(source)
    if first is None:
        return compile(source, file, "exec", dont_inherit=True)
    names = first[1].split(", ")
    tree = _parse(source, file, names)
    tree.body = [_let_fail(node, names) for node in tree.body]
    return compile(tree, file, "exec", dont_inherit=True)


def _parse(source: str, file: str, names: Collection[str]) -> ast.Module:
    """Return a notebook's statements without the cells that are not Python.

    Raise SyntaxError if one of those seems to define what is needed.
    """
    try:
        return ast.parse(source, file)
    except SyntaxError:
        cells = _CELL.split(source)
        right = [_is_python(cell) for cell in cells]
        needed = {*names, *_WORD.findall("".join(itertools.compress(cells, right)))}
        broken = [cell for cell, is_right in zip(cells, right) if not is_right]
        if not needed.isdisjoint(_BINDS.findall("".join(broken))):
            raise
        # Empty lines in their place, so that all others keep their numbers.
        kept = [cell if ok else "\n" * cell.count("\n") for cell, ok in zip(cells, right)]
        return ast.parse("".join(kept), file)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _let_fail(node: ast.stmt, names: Collection[str]) -> ast.stmt:
    """Return a statement whose exceptions are ignored, if it is one that may fail."""
    if not isinstance(node, _MAY_FAIL) or getattr(node, "name", "") in names:
        return node
    ignore = ast.ExceptHandler(type=ast.Name("Exception", ast.Load()), name=None, body=[ast.Pass()])
    tried = ast.Try(body=[node], handlers=[ignore], orelse=[], finalbody=[])
    return ast.fix_missing_locations(ast.copy_location(tried, node))
