"""Find what is missing or inconsistent in the files of a step, and report it in sentences.

Files are read as text or parsed. Nothing is imported and no check is run, so it takes a second.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from grader.answer_key.variants import FAIR, MISTAKES, Variant, read
from grader.steps.paths import HIDDEN, NOTEBOOKS, PACKAGE, ROOT, SOLUTIONS, STUBS, VALUES, VISIBLE
from grader.steps.quiz import FOLDER as QUESTIONS
from grader.steps.registry import DATA, KitError, Registry, Step, read_toml
from grader.steps.stubs import BuildError, solution_of, stub, text_hash

TODO = "TODO"
MAX_TITLE = 120
MAX_LINE = 100
INFLUENCE_INPUTS = PACKAGE / "checks" / "influence_inputs"
REFERENCE = PACKAGE / "answer_key"


def written_files(step_id: str) -> dict[str, Path]:
    """Return the hand-written files of a step, each with its description."""
    return {
        "the lesson with its solution": SOLUTIONS / f"{step_id}.py",
        "what the step asks and what it is worth": DATA / f"{step_id}.toml",
        "the checks": VISIBLE / f"test_{step_id}.py",
        "the sizes of the hidden checks": HIDDEN / f"test_{step_id}.py",
        "the known mistakes": MISTAKES / f"{step_id}.py",
        "right code in other styles": FAIR / f"{step_id}.py",
        "the questions about its lesson": QUESTIONS / f"{step_id}.toml",
    }


def built_files(step_id: str) -> tuple[Path, ...]:
    """Return the files of a step that `make build` writes."""
    course = NOTEBOOKS / "nbgrader" / "source" / step_id / f"{step_id}.ipynb"
    stub_path, notebook = STUBS / f"{step_id}.py", NOTEBOOKS / f"{step_id}.ipynb"
    return (stub_path, notebook, course, VALUES / f"{step_id}.json")


def find_in_step(registry: Registry, step: Step) -> list[str]:
    """Return what is missing or inconsistent in one step."""
    missing = [
        f"{_name(path)} is missing: {what}."
        for what, path in written_files(step.id).items()
        if not path.is_file()
    ]
    if missing:
        return missing
    return [
        *_in_registry(registry, step),
        *_in_solution(step),
        *_in_reference(step),
        *_in_checks(step),
        *_in_sizes(registry, step),
        *_in_variants(step),
        *_in_influence_inputs(step),
        *_in_built(step),
        *_in_todos(step),
    ]


def find_in_kit(registry: Registry) -> list[str]:
    """Return what is inconsistent between steps."""
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
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _data(step: Step) -> str:
    return _name(DATA / f"{step.id}.toml")


@cache
def _parse(path: Path, changed: float) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = _parse(path, path.stat().st_mtime)
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _in_registry(registry: Registry, step: Step) -> Iterator[str]:
    where = _data(step)
    if step.part not in {part.number for part in registry.parts}:
        yield f"{where}: there is no part {step.part} in {_name(DATA / 'kit.toml')}."
    if len(step.hints) < 3:
        yield f"{where} has {len(step.hints)} hints; a step has three: idea, place, question."
    names = {*(check.id for check in step.checks), *(f.name for f in step.functions)}
    for name in set(read_toml(DATA / f"{step.id}.toml").get("hints_for", ())) - names:
        yield f"{where}: hints_for names {name}, which is neither a function nor a check of it."
    for check in step.checks:
        if check.points <= 0:
            yield f"{where}: the check {check.id} is worth no points."
    if not step.checks:
        yield f"{where} names no check."


def _in_solution(step: Step) -> Iterator[str]:
    path = SOLUTIONS / step.filename
    where, text = _name(path), path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if not (lines[:1] == ["# %% [markdown]"] and lines[1].startswith(f"# # Step {step.number} — ")):
        yield f"{where} should begin with `# %% [markdown]` and `# # Step {step.number} — …`."
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            yield f"{where}:{number} is longer than {MAX_LINE} characters."
    found = _functions(path)
    for function in step.functions:
        node = found.get(function.name)
        if node is None:
            yield f"{where} has no function {function.name}, which {_data(step)} asks for."
            continue
        takes = tuple(arg.arg for arg in node.args.args)[: len(function.takes)]
        if takes != function.takes:
            yield (
                f"{where}:{node.lineno}: {function.name} takes {', '.join(takes)}; "
                f"{_data(step)} says {', '.join(function.takes)}."
            )
        if ">>>" not in (ast.get_docstring(node) or ""):
            yield f"{where}:{node.lineno}: the docstring of {function.name} has no example."
        if "### BEGIN SOLUTION" not in (ast.get_source_segment(text, node) or ""):
            yield f"{where}:{node.lineno}: {function.name} has no `### BEGIN SOLUTION`."


def _in_reference(step: Step) -> Iterator[str]:
    files = sorted(REFERENCE.glob("reference*.py"))
    known = {name for path in files for name in _functions(path)}
    for function in step.functions:
        if function.name not in known:
            yield f"{_name(REFERENCE / 'reference.py')} has no function {function.name}."


def _in_checks(step: Step) -> Iterator[str]:
    path, hidden = VISIBLE / f"test_{step.id}.py", HIDDEN / f"test_{step.id}.py"
    where, wanted = _name(path), {check.id for check in step.checks}
    found = {
        name.removeprefix("test_"): node
        for name, node in _functions(path).items()
        if name.startswith("test_")
    }
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
    if f"from tests.visible.test_{step.id} import *" not in hidden.read_text(encoding="utf-8"):
        yield f"{_name(hidden)} should import everything from tests.visible.test_{step.id}."
    for name in _functions(hidden):
        if name.startswith("test_"):
            yield f"{_name(hidden)} defines {name}: the hidden suite has no rules of its own."
    for name in sorted(_edges(hidden) - wanted):
        yield f"{_name(hidden)}: EDGES names {name}, which is not a check of this step."


def _edges(path: Path) -> set[str]:
    """Return the checks that EDGES names, if they are plain strings."""
    for node in _parse(path, path.stat().st_mtime).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            keys = {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
            if [t.id for t in node.targets if isinstance(t, ast.Name)] == ["EDGES"]:
                return {str(key) for key in keys}
    return set()


def _in_sizes(registry: Registry, step: Step) -> Iterator[str]:
    """Yield names of sizes that other steps declare but this step does not."""
    text = (VISIBLE / f"test_{step.id}.py").read_text(encoding="utf-8")
    for size, name in registry.size_names.items():
        if re.search(rf'^ *\{{.*"{size}":.*\}},?$', text, re.MULTILINE) and size not in step.sizes:
            yield f'{_data(step)}: declare `{size} = "{name}"` in sizes: its checks have that size.'
    for name in step.last_axis:
        if name not in step.sizes.values():
            yield f"{_data(step)}: last_axis names {name}, which is not among its sizes."


def _in_variants(step: Step) -> Iterator[str]:
    try:
        mistakes, fair = read(MISTAKES, step), read(FAIR, step)
    except (KitError, SyntaxError) as error:
        yield f"{error}."
        return
    checks, functions = {check.id for check in step.checks}, {f.name for f in step.functions}
    for variant in (*mistakes, *fair):
        yield from _in_variant(variant, step, checks, functions)
    where = _name(MISTAKES / step.filename)
    caught = {variant.caught_by for variant in mistakes}
    for check in (check.id for check in step.checks if check.id not in caught):
        yield f"{where}: no known mistake is caught by {check}; write one."
    for name in (function.name for function in step.functions):
        if not any(name in variant.places for variant in mistakes):
            yield f"{where} has no known mistake in {name}."
        if not any(name in variant.places for variant in fair):
            yield f"{_name(FAIR / step.filename)} has no other way to write {name}."
    for name, count in Counter(variant.id for variant in fair).items():
        if count > 1 and len({v.replaces for v in fair if v.id == name}) < count:
            yield f"{_name(FAIR / step.filename)}: {count} variants are called {name}."


def _in_variant(
    variant: Variant, step: Step, checks: set[str], functions: set[str]
) -> Iterator[str]:
    folder = MISTAKES if variant.kind == "mistake" else FAIR
    where = f"{_name(folder / step.filename)}: {variant.name}"
    for name in variant.places:
        if name not in functions:
            yield f"{where} replaces {name}, which is not a function of {step.id}."
    if variant.kind == "fair":
        return
    if variant.caught_by not in checks:
        yield f"{where} is caught by {variant.caught_by}, which is not a check of {step.id}."
    if not variant.says.endswith((".", "?")):
        yield f"{where}: `says` should be a sentence."
    if not variant.hint:
        yield f"{where} has no hint."


def _in_influence_inputs(step: Step) -> Iterator[str]:
    path = INFLUENCE_INPUTS / step.filename
    if not path.is_file():
        return
    for node in ast.walk(_parse(path, path.stat().st_mtime)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            named = [t.id for t in node.targets if isinstance(t, ast.Name)] == ["MAPS"]
            for key in node.value.keys if named else ():
                if isinstance(key, ast.Constant) and key.value not in {
                    function.name for function in step.functions
                }:
                    yield f"{_name(path)}: MAPS names {key.value!r}, no function of {step.id}."


def _in_built(step: Step) -> Iterator[str]:
    for path in built_files(step.id):
        if not path.is_file() and path.parent != STUBS:
            yield f"{_name(path)} is missing: run `make build`."
    try:
        text = stub(solution_of(step))
    except BuildError as error:
        yield f"{_name(SOLUTIONS / step.filename)}: {error}."
        return
    if _read_built().get(step.filename) != text_hash(text):
        yield f"{_name(STUBS / step.filename)} is out of date: run `make build`."


def _read_built() -> Mapping[str, str]:
    """Return the hashes of the stubs as built, because the stubs may have been edited since."""
    path = STUBS / ".built.json"
    found: Mapping[str, str] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def _in_todos(step: Step) -> Iterator[str]:
    for path in written_files(step.id).values():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if TODO in line:
                yield f"{_name(path)}:{number} still says {TODO}."
