"""Parse a source cell by cell: a file is one cell, and a notebook's text has a mark above each.

Nothing is executed here. The judge takes marks and kinds from this file, and parses nothing. In a
process of its own, `main` says what sources consist of.
"""

import ast
import json
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .lockdown import set_resource_limits, set_timer

NOTEBOOK = "# This text is a notebook: its cells run one after another, as in Jupyter."
CELL = "# %%"  # with which the line above a cell begins
GRADE_ID = ' grade_id="'
REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)
PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
KIND_OF = {ast.ClassDef: "class", ast.Import: "import", ast.ImportFrom: "import"}
KIND_OF |= dict.fromkeys(FUNCTIONS, "function")
KINDS = {*KIND_OF.values(), "value", "module"}  # of what binds a name
_CONTINUES = ("else", "elif", "except", "finally", "case")
MAX_TRIES = 50  # each parses a cell once more
MAX_FOUND = 20_000  # bindings
MAX_MIB = 1024
MAX_SECONDS = 5.0  # of processor time, for one answer
LONGEST = 24 * 3600.0  # seconds, for all


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
        gives_up = broken and broken + first, at and at + first
        yield Cell(statements, tags, [first + n for n in commands], gives_up, end)


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
            while number > 1 and lines[number - 2].startswith("@"):
                number -= 1
            return number
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
        match line:
            case ast.Raise(ast.Name(n) | ast.Call(ast.Name(n))) if n == "NotImplementedError":
                return line.lineno
    return 0


def find_bound(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a statement binds outside of functions, each with the node that does.

    `global` in a function is not looked for: only running it tells.
    """
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name, node
            case ast.Name(name, ast.Store()):
                yield name, node
            case ast.Import(names) | ast.ImportFrom(_, names):
                for alias in names:
                    yield alias.asname or alias.name.partition(".")[0], node
            case ast.Lambda():
                pass
            case _:
                left += reversed([*ast.iter_child_nodes(node)])


def outline(source: str) -> list[Any]:
    """Return what a source consists of: the fields of `grader.isolation.survey.Survey`.

    A binding is a list of the fields of `Binding` there.
    """
    parts = [*read_cells(source)]
    statements = [one for cell in parts for one in cell.statements]
    bindings: list[list[Any]] = []
    reads: dict[str, set[str]] = {}
    for statement in statements:
        bound = [*_find(statement)]
        read = _find_read(statement, bound) if bound else set[str]()
        for name, kind, node in bound:
            bindings.append([name, kind, *_describe(statement, node)])
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


def _describe(statement: ast.stmt, node: ast.AST) -> list[Any]:
    """Return the lines of a definition with its decorators, or of a statement, and more.

    That is whether a function is written, its first line below the docstring, whether it has code
    beside its stub, and its parameters. Anything else is written.
    """
    one = node if isinstance(node, FUNCTIONS) else statement
    first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", []))])
    lines = first, one.end_lineno or one.lineno
    if not isinstance(node, FUNCTIONS):
        return [*lines, True, 0, False, []]
    has_text = ast.get_docstring(node, clean=False) is not None
    code, stub = node.body[has_text:], find_stub_line(node)
    other = [one for one in code if one.lineno != stub and not isinstance(one, ast.Pass)]
    begin = code[0].lineno if code else node.end_lineno or 0
    of = node.args
    every = (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg)
    parameters = [one.arg for one in every if one is not None]
    return [*lines, not is_stub(node), begin, bool(other), parameters]


def _find_read(statement: ast.stmt, bound: Sequence[tuple[str, str, ast.AST]]) -> set[str]:
    """Return the names that a statement looks up, and the modules that it imports from.

    A function's own variables and parameters are not looked up outside of it.
    """
    modules = {name for name, kind, _ in bound if kind == "module"}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    own = set[str]()
    if isinstance(statement, FUNCTIONS):
        own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return modules | {node.id for node in names} - own


def _find(statement: ast.stmt) -> Iterator[tuple[str, str, ast.AST]]:
    """Yield the names that a statement binds, and the modules that it imports from."""
    modules = set[str]()
    for name, node in find_bound(statement):
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        yield name, KIND_OF.get(type(node), "value"), node
    yield from ((module, "module", statement) for module in modules if module)


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
