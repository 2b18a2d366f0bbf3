"""Read variants of the solutions: known mistakes, and fair ways to be right, kept as text.

A variant file is never imported. Each decorated function in it becomes a submission: the step's
solution, the file's undecorated code, the function, and a last line that puts it in the place of
the function that it replaces.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from grader.intake.submission import Submission
from grader.steps.paths import PACKAGE, ROOT, SOLUTIONS
from grader.steps.registry import KitError, Step, read_toml

CAUGHT_BY = "caught_by.toml"  # beside the folder of mistakes; `make build` writes it
MISTAKES = PACKAGE / "answer_key" / "mistakes"
FAIR = ROOT / "tests" / "corpora" / "fair"
TEXTS = ("says", "hint")
F = TypeVar("F", bound=Callable[..., Any])


def mistake(id: str, replaces: str, *, also: Mapping[str, str] | None = None) -> Callable[[F], F]:
    """Mark a known wrong version of a function."""
    return lambda function: function


def says(sentence: str) -> Callable[[F], F]:
    """Tell what a known mistake does."""
    return lambda function: function


def hint(question: str) -> Callable[[F], F]:
    """Ask what leads to a known mistake, without giving the answer."""
    return lambda function: function


def fair(id: str, replaces: str, *, also: Mapping[str, str] | None = None) -> Callable[[F], F]:
    """Mark an unusual but right version of a function."""
    return lambda function: function


@dataclass(frozen=True)
class Variant:
    """A right solution with one function replaced. A fair one has no caught_by, says or hint.

    caught_by: the check that catches a mistake; empty if none was found yet.
    replacements: the name of each replacing function, by the function that it replaces.
    """

    kind: str
    id: str
    name: str
    step: str
    replacements: Mapping[str, str]
    prelude: str = field(repr=False)
    body: str = field(repr=False)
    caught_by: str = ""
    says: str = ""
    hint: str = ""

    @property
    def replaces(self) -> str:
        """Return the function that this variant replaces."""
        return next(iter(self.replacements))

    @property
    def source(self) -> str:
        """Return the step's file with the variant in it."""
        solution = (SOLUTIONS / f"{self.step}.py").read_text(encoding="utf-8")
        puts = "\n".join(f"{function} = {name}" for function, name in self.replacements.items())
        return "\n\n".join([solution, self.prelude, self.body, puts]) + "\n"

    @property
    def submission(self) -> Submission:
        """Return the variant as a submission."""
        return Submission(self.name, {self.step: self.source})


def _marks(node: ast.stmt) -> dict[str, ast.Call]:
    """Return the decorators of a variant by name; none of any other function."""
    calls = [d for d in getattr(node, "decorator_list", ()) if isinstance(d, ast.Call)]
    named = {call.func.id: call for call in calls if isinstance(call.func, ast.Name)}
    return named if {"mistake", "fair"} & set(named) else {}


def _lines(text: str, node: ast.stmt) -> str:
    """Return the source of a top-level statement, its decorators included."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(text.split("\n")[first - 1 : node.end_lineno])


def _literal(node: ast.expr, path: Path) -> Any:
    """Return the value of a plain string or dict. Raise KitError, with file and line, otherwise."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        what = "an f-string" if isinstance(node, ast.JoinedStr) else f"`{ast.unparse(node)}`"
        where = f"{path.parent.name}/{path.name}:{node.lineno}"
        raise KitError(f"{where}: a decorator's values are plain texts; this is {what}") from None


def _variant(
    node: ast.FunctionDef, marks: Mapping[str, ast.Call], path: Path, text: str, prelude: str
) -> Variant:
    kind = "mistake" if "mistake" in marks else "fair"
    id, replaces = (_literal(item, path) for item in marks[kind].args)
    options = {item.arg: _literal(item.value, path) for item in marks[kind].keywords}
    texts = {name: _literal(call.args[0], path) for name, call in marks.items() if name in TEXTS}
    replacements = {replaces: node.name, **(options.get("also") or {})}
    body = "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])
    check = read_caught_by(path.parent.parent / CAUGHT_BY).get(path.stem, {}).get(node.name, "")
    return Variant(kind, id, node.name, path.stem, replacements, prelude, body, check, **texts)


@cache
def read_caught_by(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Return by step and by the mistake's name which check catches it."""
    checks = read_toml(path) if path.exists() else {}
    return {
        step: {name: check for check, names in entry.items() for name in names.split()}
        for step, entry in checks.items()
    }


@cache
def read(folder: Path, step: Step) -> tuple[Variant, ...]:
    """Return the variants of a step in that folder, in the order of its file."""
    path = folder / step.filename
    if not path.exists():
        return ()
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    prelude = "\n\n".join(
        _lines(text, node)
        for node in tree.body
        if not _marks(node)
        and not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"))
    )
    return tuple(
        _variant(node, marks, path, text, prelude)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and (marks := _marks(node))
    )
