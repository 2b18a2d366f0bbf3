"""Hostile submissions, kept as text: what each tries, what it must get, what must keep it in.

A file of attacks is never imported. Each decorated function in it becomes a submission: the file's
undecorated code, the function, and a last line that puts it in the place of the function that it
attacks. The name of the file is the class of attack.
"""

import ast
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.intake.submission import Submission
from grader.steps import registry
from grader.steps.paths import ROOT

HERE = Path(__file__).parent
NAME = "nopeek-attack"  # in the name of whatever an attack leaves behind, in the attacks' text
MARK = f"{NAME}-{os.getpid()}"  # what they are given instead: other runs may go on beside this one
SECRET = "NOPEEK_TEST_SECRET"  # in the judge's environment while attacks are graded
# Every isolation promises what those before it do, and more.
LEVELS = ("process", "process+", "bubblewrap")


def attack(
    target,
    status,
    *,
    needs="process",
    earns="nothing",
    right=False,
    at_import=False,
    text=False,
    suite="hidden",
):
    """Marks an attack on the function `target`.

    status: what becomes of the check of its values, or the several that may. needs: the least
    isolation that keeps it in; under less it is never run, for it would harm the machine or
    simply work. earns: `nothing`, or `own` where the values are right and what must not happen
    is harm. right: the right function is there under that name, for an attack that uses it only
    if it gets at what it must not see: then its points give it away. at_import: it happens when
    the module is loaded. text: the function is ours and returns the source that is handed in.
    """
    return lambda function: function


@dataclass(frozen=True)
class Attack:
    """One hostile submission."""

    kind: str
    name: str
    says: str
    target: str
    status: tuple[str, ...]
    source: str = field(repr=False)
    needs: str = "process"
    earns: str = "nothing"
    suite: str = "hidden"

    @property
    def step(self):
        """The step that it attacks."""
        return next(
            step
            for step in registry.load().steps
            if any(function.name == self.target for function in step.functions)
        )

    @property
    def submission(self):
        """What is handed in."""
        return Submission(self.name, {self.step.id: self.source})

    def kept_in_by(self, isolation):
        """Whether it may be run under that isolation."""
        return LEVELS.index(self.needs) <= LEVELS.index(isolation)


def solution(target):
    """The right source of the step with that function."""
    step = Attack("", "", "", target, (), "").step
    return (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")


def _mark(node):
    for decorator in getattr(node, "decorator_list", ()):
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "attack":
            return decorator
    return None


def _prelude(text, tree):
    def is_ours(node):
        return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")

    kept = [node for node in tree.body if _mark(node) is None and not is_ours(node)]
    return "\n\n".join(ast.get_source_segment(text, node) for node in kept)


def _source(name, *parts):
    """What is handed in, with this run's mark."""
    return _marked(name, *parts).replace(NAME, MARK)


def _marked(name, body, prelude, target, options):
    right, at_import = options.pop("right", False), options.pop("at_import", False)
    code = "\n\n".join([prelude, body, f"{name}()" if at_import else f"{target} = {name}"]) + "\n"
    if options.pop("text", False):
        space = {}
        exec("\n\n".join([prelude, body]), space)  # a text that this file makes itself
        return space[name]()
    if right or options.get("earns") == "own":
        return f"{solution(target)}\n\nright = {target}\n\n{code}"
    return code


def _attack(node, mark, kind, text, prelude):
    target, status = (ast.literal_eval(item) for item in mark.args)
    options = {item.arg: ast.literal_eval(item.value) for item in mark.keywords}
    body = "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])
    source = _source(node.name, body, prelude, target, options)
    statuses = (status,) if isinstance(status, str) else status
    says = ast.get_docstring(node)
    return Attack(kind, node.name, says, target, statuses, source, **options)


@cache
def attacks():
    """All of them, in the order in which they stand in their files."""
    found = []
    for path in sorted(HERE.glob("[a-z]*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        prelude = _prelude(text, tree)
        for node in tree.body:
            if mark := _mark(node):
                found.append(_attack(node, mark, path.stem, text, prelude))
    return tuple(found)
