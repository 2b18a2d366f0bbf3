"""Find what is missing or inconsistent in the files of a step, and report it in sentences.

Files are read as text or parsed. Nothing is imported and no check is run, so it takes a second.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.authoring import step_files as files
from grader.authoring.guide_findings import find_in_guides
from grader.authoring.lesson_findings import find_in_lesson
from grader.authoring.question_findings import (
    find_in_hints,
    find_in_questions,
    find_unknown_hints,
)
from grader.authoring.variant_findings import find_in_variants
from grader.steps.registry import Registry, Step
from grader.steps.stubs import BuildError, stub, text_hash

BUILD = "run `make build`"
TODO = "TODO"
MAX_TITLE = 120


def find_in_step(registry: Registry, step: Step) -> list[str]:
    """Return what is missing or inconsistent in one step, in its files and in those for all."""
    unreadable = list(files.find_unreadable(step))
    if unreadable:
        return unreadable
    return [
        *_in_registry(registry, step),
        *find_in_lesson(registry, step),
        *find_in_questions(step),
        *find_in_hints(step),
        *_in_reference(step),
        *_in_checks(step),
        *_in_sizes(registry, step),
        *find_in_variants(step),
        *find_in_guides(registry, step),
        *_in_built(step),
        *_in_todos(files.written_files(step.id).values()),
    ]


def find_in_kit(registry: Registry) -> list[str]:
    """Return what is inconsistent between steps, or unfinished in the files that they share."""
    found = []
    numbers = [step.number for step in registry.steps]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(
            f"The steps are numbered {registry.numbers}; they should be 1 to {len(numbers)}."
        )
    checks = Counter(check.id for step in registry.steps for check in step.checks)
    found += [f"{count} checks are called {name}." for name, count in checks.items() if count > 1]
    names: dict[str, str] = {}
    for step in registry.steps:
        for size, name in step.sizes.items():
            if names.setdefault(size, name) != name:
                found.append(f"{_data(step)} calls the size {size} {name}, others {names[size]}.")
    return [*found, *find_unknown_hints(registry), *_in_todos(files.shared_files())]


def _data(step: Step) -> str:
    return files.name(files.DATA / f"{step.id}.toml")


def _in_registry(registry: Registry, step: Step) -> Iterator[str]:
    where = _data(step)
    if step.part not in {part.number for part in registry.parts}:
        yield f"{where}: there is no part {step.part} in {files.name(files.DATA / 'kit.toml')}."
    names = {*(check.id for check in step.checks), *(f.name for f in step.functions)}
    for name in set(files.load_toml(files.DATA / f"{step.id}.toml").get("hints_for", ())) - names:
        yield f"{where}: hints_for names {name}, which is neither a function nor a check of it."
    for check in step.checks:
        if check.points <= 0:
            yield f"{where}: the check {check.id} is worth no points."
    if not step.checks:
        yield f"{where} names no check."


def _in_reference(step: Step) -> Iterator[str]:
    paths = sorted(files.REFERENCE.glob("reference*.py"))
    known = {name for path in paths for name in files.find_functions(path)}
    for function in step.functions:
        if function.name not in known:
            yield f"{files.name(files.REFERENCE / 'reference.py')} has no function {function.name}."


def _in_checks(step: Step) -> Iterator[str]:
    path, wanted = files.VISIBLE / f"test_{step.id}.py", {check.id for check in step.checks}
    where, found = files.name(path), _find_checks(path)
    for name in sorted(wanted - set(found)):
        yield f"{where} has no function test_{name}; {_data(step)} gives it points."
    for name in sorted(set(found) - wanted):
        yield f"{where}:{found[name].lineno}: {_data(step)} gives no points to {name}."
    for name, node in found.items():
        title = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
        if not title.endswith(".") or len(title) > MAX_TITLE:
            yield (
                f"{where}:{node.lineno}: the docstring of test_{name} should begin with one "
                f"sentence of at most {MAX_TITLE} characters."
            )
    yield from _in_hidden_checks(step, wanted)


def _find_checks(path: Path) -> dict[str, ast.FunctionDef]:
    """Return the checks of a file by their names without `test_`."""
    functions = files.find_functions(path).items()
    return {name[5:]: node for name, node in functions if name.startswith("test_")}


def _in_hidden_checks(step: Step, wanted: set[str]) -> Iterator[str]:
    hidden = files.HIDDEN / f"test_{step.id}.py"
    where = files.name(hidden)
    if f"from tests.visible.test_{step.id} import *" not in files.read_text(hidden):
        yield f"{where} should import everything from tests.visible.test_{step.id}."
    for name in _find_checks(hidden):
        yield f"{where} defines test_{name}: the hidden suite has no rules of its own."
    for name in sorted({*files.read_keys(hidden, "EDGES")} - wanted):
        yield f"{where}: EDGES names {name}, which is not a check of this step."


def _in_sizes(registry: Registry, step: Step) -> Iterator[str]:
    """Yield names of sizes that other steps declare but this step does not."""
    text = files.read_text(files.VISIBLE / f"test_{step.id}.py")
    for size, name in registry.size_names.items():
        if re.search(rf'^ *\{{.*"{size}":.*\}},?$', text, re.MULTILINE) and size not in step.sizes:
            yield f'{_data(step)}: declare `{size} = "{name}"` in sizes: its checks have that size.'
    for name in step.last_axis:
        if name not in step.sizes.values():
            yield f"{_data(step)}: last_axis names {name}, which is not among its sizes."


def _in_built(step: Step) -> Iterator[str]:
    for path in files.built_files(step.id):
        if not path.is_file() and path.parent != files.STUBS:
            yield f"{files.name(path)} is missing: {BUILD}."
    solution = files.SOLUTIONS / step.filename
    try:
        text = stub(files.read_text(solution))
    except BuildError as error:
        yield f"{files.name(solution)}: {error}."
        return
    if _read_built().get(step.filename) != text_hash(text):
        yield f"{files.name(files.STUBS / step.filename)} is out of date: {BUILD}."


def _read_built() -> Mapping[str, str]:
    """Return the hashes of the stubs as built, because the stubs may have been edited since."""
    path = files.STUBS / ".built.json"
    found: Mapping[str, str] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def _in_todos(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(files.read_text(path).splitlines(), 1):
            if TODO in line:
                yield f"{files.name(path)}:{number} still says {TODO}."
