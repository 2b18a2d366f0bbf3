"""Find the student's own lines of a failing function, with the line to blame if it is known."""

from __future__ import annotations

import ast

from grader.intake.submission import lines_of, place
from grader.report.records import Code
from grader.steps.stubs import parse_source

MOST_LINES = 30
MAX_WIDTH = 160


def find_code(source: str, function: str, guilty: int, filename: str) -> Code | None:
    """Return the lines of a function without its docstring; None if they cannot be found.

    guilty: the number of the line to blame, or 0. If that line is in another function, that
    function is shown. A source that takes long to parse is not shown.
    """
    tree = parse_source(source)
    if tree is None:
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    around = [node for node in functions if _holds(node, guilty)]
    named = [node for node in functions if node.name == function]
    found = (around or named)[-1:]
    return _show(source, found[0], guilty, filename) if found else None


def _holds(node: ast.FunctionDef, number: int) -> bool:
    return node.lineno <= number <= (node.end_lineno or node.lineno)


def _show(source: str, node: ast.FunctionDef, guilty: int, filename: str) -> Code | None:
    lines, numbers = lines_of(source), _list_numbers(node)
    if len(numbers) > MOST_LINES:
        middle = numbers.index(guilty) if guilty in numbers else 0
        start = max(0, min(middle - MOST_LINES // 2, len(numbers) - MOST_LINES))
        numbers = numbers[start : start + MOST_LINES]
    where, shown, marked = "", [], 0
    for number in numbers:
        told, _ = place(source, number, filename)
        where, _, told_number = told.rpartition(", line ")
        if not told_number.isdecimal():
            return None
        shown.append((int(told_number), lines[number - 1].rstrip()[:MAX_WIDTH]))
        marked = int(told_number) if number == guilty else marked
    return Code(where, tuple(shown), marked)


def _list_numbers(node: ast.FunctionDef) -> list[int]:
    """Return the numbers of the function's lines, except those of its docstring."""
    first = node.body[0]
    is_text = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    hidden = range(first.lineno, (first.end_lineno or 0) + 1) if is_text else range(0)
    return [n for n in range(node.lineno, (node.end_lineno or 0) + 1) if n not in hidden]
