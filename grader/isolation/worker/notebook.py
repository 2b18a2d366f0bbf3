"""Run a notebook's text as its kernel would: cell by cell, statement by statement.

A statement that fails is skipped, and the others count. Names that a step asks for keep their last
written definition: a stub, or a value that cannot be called, does not replace a function.
"""

import __future__

import ast
import functools
import hashlib
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, NoReturn

import numpy as np

from .cells import CELL, FUNCTIONS, GRADE_ID, find_bound, is_stub, read_cells, split_lines

DEFINES = "# It defines: "
MAX_SKIPPED = 200
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Guide:
    """Tell a run what the judge knows.

    skip: digests of the texts of statements that are too slow. calm: run only definitions and
    imports. report: is called with the digest of each statement that may be slow, before it runs.
    """

    skip: Collection[str] = ()
    calm: bool = False
    report: Callable[[str], None] = lambda digest: None


def run(
    source: str, file: str, module: ModuleType, guide: Guide, given: Mapping[str, Any]
) -> "Running":
    """Run a notebook in a module. A function that cannot be defined raises what its cell does.

    given: functions that replace those of the notebook's which have the same name.
    """
    running = Running(source, file, module, guide, given)
    with np.errstate(), warnings.catch_warnings():
        for cell in read_cells(source):
            for statement in cell.statements:
                names = statement.names if isinstance(statement, ast.Import) else ()
                parts = [ast.copy_location(ast.Import([name]), statement) for name in names]
                for part in parts or (statement,):  # `import a, b` is two
                    running.run_one(part, cell.place_for)
        running.try_again()
    running.keep_functions()
    for name in {*running.wanted} & running.failures.keys() - running.space.keys():
        running.space[name] = functools.partial(_raise, running.failures[name][1])
    return running


class Running:
    """One notebook, while it is running.

    skipped: the first and last line of each statement that is left out, and why: the type of its
    exception; `slow`; or `replaced`, if it binds a function's name to something that does not
    count.
    """

    def __init__(
        self, source: str, file: str, module: ModuleType, guide: Guide, given: Mapping[str, Any]
    ) -> None:
        self.lines, self.file = split_lines(source), file
        self.space: dict[str, Any] = vars(module)
        self.space.update(display=print, **given)
        self.guide, self.given = guide, given
        line = source.partition("\n")[2].partition("\n")[0]  # names the functions of steps
        names = line.removeprefix(DEFINES).split() if line.startswith(DEFINES) else ()
        self.wanted = [name for name in names if name not in given]
        self.written: dict[str, Any] = {}  # the definition of each function that counts so far
        self.tagged: set[str] = set()  # those that come from the cell with their grade_id
        self.flags = 0
        self.skipped: list[list[Any]] = []
        self.failures: dict[str, tuple[int, BaseException]] = {}  # by the names that are missing
        # What failed because a name was missing.
        self.waiting: list[tuple[ast.stmt, Collection[str], NameError]] = []

    def run_one(
        self, statement: ast.stmt, place_for: Collection[str], *, last: bool = False
    ) -> None:
        """Run a statement, and skip it if it fails. last: do not try it again later.

        place_for: the functions that the statement's cell is the place for.
        """
        if not self._may_run(statement):
            self.skip(statement, "slow", TimeoutError("it takes too long"))
            return
        try:
            exec(self._compile(statement), self.space)
        except BaseException as error:  # `sys.exit()`, too, does not end a kernel
            if isinstance(error, NameError) and not last:
                self.waiting.append((statement, place_for, error))
            else:
                self.skip(statement, _name(error), error)
        stubs = {name for name, node in find_bound(statement) if is_stub(node)}
        if not self.keep_functions(place_for, stubs):
            self.skip(statement, "replaced")

    def skip(self, statement: ast.stmt, why: str, error: BaseException | None = None) -> None:
        """Note a statement that does not count. error: why the names that it binds are missing."""
        self.skipped.append([statement.lineno, statement.end_lineno or statement.lineno, why])
        if error is not None:
            failure = statement.lineno, error
            self.failures.update((name, failure) for name, _ in find_bound(statement))

    def explain_missing(self) -> dict[str, str]:
        """Return a clause on each name that a skipped statement should bind."""
        return {
            name: f"; the statement that binds it does not run ({self.place(line)}: {_name(error)})"
            for name, (line, error) in self.failures.items()
            if name not in self.space
        }

    def place(self, number: int) -> str:
        """Return the cell and the line of a line of the text."""
        marks = (at for at in range(number - 1, 0, -1) if self.lines[at - 1].startswith(CELL))
        mark = next(marks, 0)
        label = self.lines[mark - 1][len(CELL) :].partition(GRADE_ID)[0].strip()
        return f"{label}, line {number - mark}" if mark and label else f"line {number}"

    def try_again(self) -> None:
        """Run once more what wanted a name that came later, and binds none that is there now."""
        for statement, place_for, error in self.waiting:
            bound = {name for name, _ in find_bound(statement)}
            if bound.isdisjoint(self.space) and not self.guide.calm:
                self.run_one(statement, place_for, last=True)
            else:
                self.skip(statement, "NameError", error)

    def keep_functions(self, place_for: Collection[str] = (), stubs: Collection[str] = ()) -> bool:
        """Put the functions that count back in their places, after a statement of such a cell.

        Return whether all that it bound counts.
        """
        all_count = True
        for name in self.wanted:
            known = self.written.get(name)
            value = self.space.get(name, known)
            if value is known:
                continue
            counts = callable(value) and name not in stubs
            if counts and (name in place_for or name not in self.tagged):
                self.written[name] = value
                self.tagged |= {name} & {*place_for}
            elif known is not None:
                self.space[name] = known
                all_count = False
        self.space.update(self.given)
        return all_count

    def _may_run(self, statement: ast.stmt) -> bool:
        """Return whether a statement may run; before one that may be slow, say where it is."""
        if isinstance(statement, FUNCTIONS) and not (
            statement.decorator_list or statement.args.defaults or statement.args.kw_defaults
        ):
            return True  # the body runs when it is called
        calm = self.guide.calm and not isinstance(statement, _DEFINITIONS)
        text = "\n".join(self.lines[statement.lineno - 1 : statement.end_lineno])
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        if calm or digest in self.guide.skip:
            return False
        self.guide.report(digest)
        return True

    def _compile(self, statement: ast.stmt) -> CodeType:
        """Return a statement's code. What it imports from `__future__` holds from then on."""
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                self.flags |= getattr(__future__, alias.name).compiler_flag
        tree = ast.Module([statement], [])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(tree, self.file, "exec", self.flags, dont_inherit=True)
            return code


def _raise(error: BaseException, /, *args: Any, **options: Any) -> NoReturn:
    """Stand in for a function whose definition failed with that exception."""
    raise error


def _name(error: BaseException) -> str:
    return type(error).__name__[:80]
