"""Parse a source cell by cell: a file is one cell, and a notebook's text has a mark above each.

Nothing is executed here. The judge takes marks and kinds from this file, and parses nothing.
"""

import ast
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

NOTEBOOK = "# This text is a notebook: its cells run one after another, as in Jupyter."
CELL = "# %%"  # with which the line above a cell begins
GRADE_ID = ' grade_id="'
REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)
PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
KINDS = ("function", "class", "import", "value", "module")  # of what binds a name
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONTINUES = ("else", "elif", "except", "finally", "case")
MAX_TRIES = 50  # each parses a cell once more


@dataclass(frozen=True)
class Cell:
    """A cell: its tree, the functions that it is the place for, and the lines that are left out.

    commands: the lines of IPython. broken: the first line of a part that is not Python, up to the
    end of the cell, and the line in which Python gives up; 0 without one. All lines are those of
    the source, counted from 1.
    """

    statements: Sequence[ast.stmt] = field(repr=False)
    place_for: Sequence[str] = ()
    commands: Sequence[int] = ()
    broken: tuple[int, int] = (0, 0)
    last: int = 0


def is_notebook(source: str) -> bool:
    """Return whether the first line says that the source is a notebook's text."""
    return source.startswith(NOTEBOOK + "\n")


def split_lines(source: str) -> list[str]:
    """Return the lines as Python counts them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_cells(source: str) -> Iterator[Cell]:
    """Yield the cells of a source. Their statements have the lines of the whole source."""
    lines = split_lines(source)
    starts = [0]
    if is_notebook(source):
        starts += [at for at, line in enumerate(lines) if line.startswith(CELL)]
    bounds = list(zip(starts, [*starts[1:], len(lines)]))
    together = _parse_together(lines, bounds)
    for number, (start, end) in enumerate(bounds):
        mark = lines[start] if lines[start].startswith(CELL) else ""
        tags = mark.rpartition(GRADE_ID)[2].rstrip('"').split() if GRADE_ID in mark else ()
        if together is not None:
            yield Cell(together[number], tags, last=end)
            continue
        first = start + bool(mark)
        statements, commands, (broken, at) = parse(lines[first:end])
        for statement in statements:
            ast.increment_lineno(statement, first)
        left_out = [number + first for number in commands]
        yield Cell(statements, tags, left_out, (broken and broken + first, at and at + first), end)


def _parse_together(
    lines: Sequence[str], bounds: Sequence[tuple[int, int]]
) -> list[list[ast.stmt]] | None:
    """Return the statements of all cells, or None if each cell has to be parsed by itself.

    This is quicker, and possible if all of it is Python, and no statement goes on in another cell.
    """
    try:
        left = deque(_parse(lines))
    except REFUSED:
        return None
    found: list[list[ast.stmt]] = []
    for _, end in bounds:
        found.append([])
        while left and left[0].lineno <= end:
            found[-1].append(left.popleft())
            if (found[-1][-1].end_lineno or 0) > end:
                return None
    return found


def parse(lines: Sequence[str]) -> tuple[list[ast.stmt], list[int], tuple[int, int]]:
    """Return a cell's statements, IPython's lines, and the part that is not Python, as `Cell` does.

    A cell that is Python stays as it is. Otherwise IPython's lines become `pass`, one by one.
    """
    lines = list(lines)
    commands: list[int] = []
    head = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[head].lstrip().startswith("%%"):
        if lines[head].split()[0] not in PYTHON_CELLS:
            return [], [], (head + 1, head + 1)
        commands.append(head + 1)
        lines[head] = ""
    broken = (0, 0)
    for _ in range(MAX_TRIES):
        try:
            return _parse(lines), commands, broken
        except SyntaxError as error:
            at = min(max(error.lineno or 1, 1), len(lines))
        except REFUSED:
            break
        if is_command(lines[at - 1]):
            commands += _blank(lines, at - 1)
        else:
            follows = bool(broken[0]) and at == len(lines)  # from what was left out before
            broken = (_find_margin(lines, at), broken[1] if follows else at)
            del lines[broken[0] - 1 :]
    return [], commands, (1, 1)


def _parse(lines: Sequence[str]) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse("\n".join(lines) + "\n").body


def is_command(line: str) -> bool:
    """Return whether a line is IPython's: a magic, a shell's, a question, or pip without a sign."""
    text = line.strip()
    if text.startswith(("%", "!", "?", "pip ", "conda ")) or text.endswith("?"):
        return True
    _, equals, value = text.partition("=")
    return bool(equals) and value.lstrip().startswith(("%", "!"))


def _blank(lines: list[str], at: int) -> range:
    """Put `pass` in place of a line, and of those that a backslash joins to it."""
    start, indent = at, lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    while lines[at].endswith("\\") and at + 1 < len(lines):
        lines[at] = ""
        at += 1
    lines[at] = indent + "pass"
    return range(start + 1, at + 2)


def _find_margin(lines: Sequence[str], at: int) -> int:
    """Return the number of the last line up to this one that begins a statement at the margin."""
    for number in range(at, 0, -1):
        line = lines[number - 1]
        word = line.replace(":", " ").split(None, 1)[0] if line.strip() else ""
        if word and line[0] not in " \t#)]}" and word not in _CONTINUES:
            above = number
            while above > 1 and lines[above - 2].startswith("@"):
                above -= 1
            return above
    return 1


def is_stub(node: ast.AST) -> bool:
    """Return whether a function raises NotImplementedError at its end and cannot return before."""
    if not isinstance(node, FUNCTIONS) or not find_stub_line(node):
        return False
    left: list[ast.AST] = [*node.body]
    while left:
        one = left.pop()
        if isinstance(one, ast.Return):
            return False
        if not isinstance(one, (*FUNCTIONS, ast.ClassDef, ast.expr)):
            left += ast.iter_child_nodes(one)
    return True


def find_stub_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line of a function that raises NotImplementedError in any case; 0 without one."""
    for line in function.body:
        if isinstance(line, ast.Raise):
            named = line.exc.func if isinstance(line.exc, ast.Call) else line.exc
            if isinstance(named, ast.Name) and named.id == "NotImplementedError":
                return line.lineno
    return 0


def find_bound(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a statement binds outside of functions, each with the node that does.

    `global` in a function is not looked for: only running it tells.
    """
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], node
        elif not isinstance(node, ast.Lambda):
            left += reversed([*ast.iter_child_nodes(node)])
