"""Find what is missing or inconsistent in the files of a step, and report it in sentences.

Files are read as text or parsed. Nothing is imported and no check is run, so it takes a second.
"""

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.answer_key.variants import Variant, read
from grader.authoring import step_files as files
from grader.steps import quiz
from grader.steps.registry import Registry, Step
from grader.steps.stubs import find_abilities, split_cells, without_self_study

TODO = "TODO"
MAX_TITLE = 120
WORDS = range(600, 901)  # of a lesson before its last stub
ABILITIES = range(2, 6)
LEAST_QUESTIONS = 5
LEVELS = ("The idea: ", "Where to look: ", "A question: ")
COMPLETE = frozenset({"causal_mask"})  # its last hint has no `...`, but words

Found = Iterator[tuple[Path, str]]
"""A file, and the rest of a sentence that begins with its name, without the full stop."""


def find_in_step(registry: Registry, step: Step) -> list[str]:
    """Return what is missing or inconsistent in one step, in its files and in those for all."""
    unreadable = _tell(files.find_unreadable(step))
    return unreadable or _tell(
        itertools.chain(
            find_in_data(registry, step),
            find_in_lesson(registry, step),
            find_in_questions(step),
            find_in_hints(step),
            find_in_checks(registry, step),
            find_in_variants(step),
            find_in_guides(registry, step),
            _find_todos(files.written_files(step.id).values()),
        )
    )


def find_in_kit(registry: Registry) -> list[str]:
    """Return what is inconsistent between steps, or unfinished in the files that they share."""
    found = []
    numbers = [step.number for step in registry.steps]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(
            f"The steps are numbered {registry.numbers}; they should be 1 to {len(numbers)}."
        )
    checks = [check.id for step in registry.steps for check in step.checks]
    found += [f"Several checks are called {name}." for name in _find_repeated(checks)]
    names: dict[str, str] = {}
    for step in registry.steps:
        for size, name in step.sizes.items():
            if names.setdefault(size, name) != name:
                where = files.name(_data(step))
                found.append(f"{where} calls the size {size} {name}, others {names[size]}.")
    unknown = files.load_toml(files.BOTTOM).keys() - registry.homes.keys()
    hints = ((files.BOTTOM, f"has hints for {name}, which no step asks for") for name in unknown)
    return [*found, *_tell(hints), *_tell(_find_todos(files.shared_files()))]


def _tell(found: Iterable[tuple[Path, str]]) -> list[str]:
    """Return the findings as sentences."""
    return [
        f"{files.name(path)}{'' if said.startswith(':') else ' '}{said}." for path, said in found
    ]


def _data(step: Step) -> Path:
    return files.DATA / f"{step.id}.toml"


def find_in_data(registry: Registry, step: Step) -> Found:
    """Yield what is wrong with the data of a step: its part, its hints, its points."""
    where = _data(step)
    if step.part not in {part.number for part in registry.parts}:
        yield where, f": there is no part {step.part} in {files.name(files.DATA / 'kit.toml')}"
    names = {*(check.id for check in step.checks), *(f.name for f in step.functions)}
    for name in set(files.load_toml(where).get("hints_for", ())) - names:
        yield where, f": hints_for names {name}, which is neither a function nor a check of it"
    for check in step.checks:
        if check.points <= 0:
            yield where, f": the check {check.id} is worth no points"
    for name in set(step.last_axis) - set(step.sizes.values()):
        yield where, f": last_axis names {name}, which is not among its sizes"
    paths = sorted(files.REFERENCE.glob("reference*.py"))
    known = {name for path in paths for name in files.find_functions(path)}
    for function in step.functions:
        if function.name not in known:
            yield files.REFERENCE / "reference.py", f"has no function {function.name}"


# Lessons.


def find_in_lesson(registry: Registry, step: Step) -> Found:
    """Yield what a lesson lacks: its head, its length, what to try first, the example by hand."""
    where = files.SOLUTIONS / step.filename
    text = files.read_text(where)
    head = f"# %% [markdown]\n# # Step {step.number} — "
    if not text.startswith(head):
        yield where, f"should begin with `{head.replace(chr(10), '` and `')}…`"
    count = len(find_abilities(text))
    if count not in ABILITIES:
        yield where, f"lists {count} points under `**After this you can**`, not 2 to 5"
    yield from _find_in_functions(step, where, text.splitlines())
    yield from _find_in_maps(registry, step)
    yield from _find_in_prose(step, where, text)


def _find_in_functions(step: Step, where: Path, lines: list[str]) -> Found:
    data, found = files.name(_data(step)), files.find_functions(where)
    for function in step.functions:
        name, node = function.name, found.get(function.name)
        if node is None:
            yield where, f"has no function {name}, which {data} asks for"
            continue
        takes = tuple(arg.arg for arg in node.args.args)[: len(function.takes)]
        if takes != function.takes:
            wanted = ", ".join(function.takes)
            yield where, f":{node.lineno}: {name} takes {', '.join(takes)}; {data} says {wanted}"
        if ">>>" not in (ast.get_docstring(node) or ""):
            yield where, f":{node.lineno}: the docstring of {name} has no example"
        if "### BEGIN SOLUTION" not in "\n".join(lines[node.lineno - 1 : node.end_lineno]):
            yield where, f":{node.lineno}: {name} has no `### BEGIN SOLUTION`"


def _find_in_maps(registry: Registry, step: Step) -> Found:
    """Yield the lessons of the step's part whose map of the course does not name this step."""
    for part in (one for one in registry.parts if one.number == step.part):
        for other in registry.of(part):
            path = files.SOLUTIONS / other.filename
            named = rf"\[{step.number} " if other == step else rf"(?<!\d){step.number} "
            if not re.search(named, read_map(files.read_text(path), part.name.split()[-1])):
                yield (
                    path,
                    f": the map below `*The course:*` does not name step {step.number} "
                    f"in {part.name}",
                )


def read_map(text: str, numeral: str) -> str:
    r"""Return what the lesson's map of the course says about the part with that Roman numeral.

    >>> read_map("# *The course:* **I a:** 1 b, [2\n# c] · II d\n#\n", "I")
    '**I a:** 1 b, [2 c] '
    """
    whole = re.search(r"(?ms)^# \*The course:\*.*?(?=^#?$)", text)
    line = re.sub(r"\n# ", " ", whole[0]) if whole else ""
    found = re.search(rf"\*\*{numeral} [^·\n]*", line)
    return found[0] if found else ""


def _find_in_prose(step: Step, where: Path, text: str) -> Found:
    cells = split_cells(without_self_study(text))
    prose = [
        re.sub(r"(?m)^# ?", "", cell.partition("\n")[2]) if "[markdown]" in cell[:20] else ""
        for cell in cells
    ]
    stubs = [number for number, cell in enumerate(cells) if not prose[number] and "def " in cell]
    words = sum(map(len, map(read_prose, prose[: stubs[-1] if stubs else None])))
    if words not in WORDS:
        yield where, f"has {words} words of prose before its last stub; it should have 600 to 900"
    named = {function.name for function in step.functions if function.checks}
    for told, code in zip(prose, cells[1:]):
        for name in set(re.findall(r"(?m)^def (\w+)\(", code)) & named:
            if "**Try first" not in told:
                yield where, f": the text before {name} should end with `**Try first:**` and a call"
    yield from _find_in_example(step, where, "\n".join(prose))


def read_prose(text: str) -> list[str]:
    r"""Return the words of a text without headings, tables, formulas, sources and what is asked.

    >>> read_prose("# A title\n\nOne two. What is asked?\n\n    x = y\n")
    ['One', 'two.']
    """
    text = re.sub(r"(?ms)^\*\*(Sources?\.|Try first).*?(?=^$|\Z)", "", text)
    text = re.sub(r"(?m)^(#|\||    ).*$", "\n", text)
    sentences = re.split(r"(?<=[.!?:;*])\s|\n\n", text)
    told = [sentence for sentence in sentences if not sentence.rstrip().endswith("?")]
    return [word for sentence in told for word in sentence.split() if re.search(r"\w", word)]


def _find_in_example(step: Step, where: Path, text: str) -> Found:
    """Yield a finding unless a question or an example checks the reader's number by hand."""
    section = re.search(r"(?ms)^## By hand.*?(?=^## (?!Several)|\Z)", text)
    if section is None:
        yield where, "has no section `## By hand`"
        return
    plain = " ".join(section[0].split()).replace(", further down, checks", " checks")
    checks = re.findall(r"[Qq]uestion (\d+[a-z]) checks|example of `(\w+)` checks", plain)
    if not checks:
        yield (
            where,
            ": `## By hand` should leave one number to the reader, and say that "
            f"`question {step.number}a checks it` or `the example of `function` checks it`",
        )
    known = {one["id"] for one in files.read_questions(step)} | {f.name for f in step.functions}
    for one in {"".join(found) for found in checks} - known:
        yield where, f": `## By hand` names {one}, which the step does not have"


# Questions and hints.


def find_in_questions(step: Step) -> Found:
    """Yield what is missing or inconsistent in the questions about a lesson."""
    where, entries = files.QUESTIONS / f"{step.id}.toml", files.read_questions(step)
    ids = [str(entry.get("id", "")) for entry in entries]
    wanted = [f"{step.number}{'abcdefghijklmnop'[i]}" for i in range(len(entries))]
    if len(entries) < LEAST_QUESTIONS:
        yield where, f"has {len(entries)} questions; a step has at least {LEAST_QUESTIONS}"
    if ids != wanted:
        yield where, f": the questions are called {', '.join(ids)}, not {', '.join(wanted)}"
    for entry in entries:
        if wrong := _find_in_question(entry):
            yield where, f": {entry.get('id')} {wrong}"


def _find_in_question(entry: Mapping[str, Any]) -> str:
    """Return what is wrong with one question, or "": its form, its answers, or its options."""
    kind = entry.get("kind")
    if kind not in quiz.KINDS:
        return f"is of no known kind; its kind should be one of {', '.join(quiz.KINDS)}"
    try:
        answers = quiz.read_question(entry).replies
    except KeyError as error:
        return f"lacks `{error.args[0]}`"
    except ValueError as error:
        return f"has an answer that cannot be read ({str(error).rstrip('.')})"
    if len(answers) <= len(entry.get("wrong", ())):
        return "has the same answer twice"
    if len(answers) == 1 and kind != "open":
        return "has no wrong answer with its reason"
    if kind == "choice" and set(answers) != set(entry["options"]):
        return "has an option without a reason, as the answer or in `wrong`"
    return ""


def find_in_hints(step: Step) -> Found:
    """Yield what is missing in the hints of a step, from the idea to the function with one hole."""
    where = _data(step)
    for name, hints in {"hints": step.hints, **files.load_toml(where).get("hints_for", {})}.items():
        if len(hints) != len(LEVELS):
            yield where, f": {name} has {len(hints)} hints, not an idea, a place and a question"
        for hint, level in zip(hints, LEVELS, strict=False):
            if not hint.startswith(level):
                yield where, f": a hint of {name} should begin with `{level.strip()}`"
    entries = files.load_toml(files.BOTTOM)
    for function in step.functions:
        for wrong in _find_in_bottom(step, function.name, entries.get(function.name, {})):
            yield files.BOTTOM, f": [{function.name}] {wrong}"


def _find_in_bottom(step: Step, name: str, bottom: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the last two hints of a function."""
    if set(bottom) - {"wrong"} != {"tool", "almost"}:
        yield "should have `tool` and `almost`, its last two hints"
        return
    tool, almost, wrong = bottom["tool"].strip(), bottom["almost"].strip(), bottom.get("wrong", ())
    lines = almost.splitlines()[1:]
    told = {_strip(line) for hint in (tool, almost, *wrong) for line in hint.split("\n")} | {""}
    text = files.read_text(files.SOLUTIONS / step.filename)
    solution = re.search(rf"^def {name}\(.*?### BEGIN SOLUTION\n(.*?)### END", text, re.S | re.M)
    secret = {_strip(line) for line in solution[1].splitlines()} if solution else {name}
    faults = {
        "should list a line in `wrong` if it has several": (len(lines) > 1) != bool(wrong),
        "has a line in `wrong` and in `almost`": bool({*lines} & {*wrong}),
        "should begin its `tool` with `The tool: `": not tool.startswith("The tool: "),
        "should begin `almost` with `Almost there:`": not almost.startswith("Almost there:"),
        "should leave a hole, `...`, in `almost`": "..." not in almost and name not in COMPLETE,
        "has hints with every line of its solution": secret <= told,
    }
    yield from (fault for fault, is_there in faults.items() if is_there)
    for line in tool.split("\n")[1:]:
        if not _is_code(line):
            yield f"has a line in `tool` that is not code: {line}"


def _is_code(line: str) -> bool:
    body = "        pass\n" if line.endswith(":") else ""
    try:
        compile(f"if True:\n    {line}\n{body}", "hint", "exec")
    except SyntaxError:
        return False
    return True


def _strip(line: str) -> str:
    """Return a line of code without its comment and its indentation."""
    return re.sub(r"\s*#.*", "", line).strip()


# Checks, known mistakes and fair variants.


def find_in_checks(registry: Registry, step: Step) -> Found:
    """Yield what is missing or inconsistent in the checks of both suites."""
    path, hidden = (folder / f"test_{step.id}.py" for folder in (files.VISIBLE, files.HIDDEN))
    wanted, found = {check.id for check in step.checks}, _read_checks(path)
    for name in sorted(wanted - found.keys()):
        yield path, f"has no function test_{name}; {files.name(_data(step))} gives it points"
    for name, node in found.items():
        if name not in wanted:
            yield path, f":{node.lineno}: {files.name(_data(step))} gives no points to {name}"
        text = (ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef) else "."
        title = " ".join(text.split("\n\n")[0].split())
        if not title.endswith(".") or len(title) > MAX_TITLE:
            yield (
                path,
                f":{node.lineno}: the docstring of test_{name} should begin with one sentence of "
                f"at most {MAX_TITLE} characters",
            )
    if f"from tests.visible.test_{step.id} import *" not in files.read_text(hidden):
        yield hidden, f"should import everything from tests.visible.test_{step.id}"
    for name in _read_checks(hidden):
        yield hidden, f"defines test_{name}: the hidden suite has no rules of its own"
    for name in sorted({*files.read_keys(hidden, "EDGES")} - wanted):
        yield hidden, f": EDGES names {name}, which is not a check of this step"
    text = files.read_text(path)
    for size, name in registry.size_names.items():
        if re.search(rf'^ *\{{.*"{size}":.*\}},?$', text, re.MULTILINE) and size not in step.sizes:
            yield _data(step), f': declare `{size} = "{name}"` in sizes: its checks have that size'


def _read_checks(path: Path) -> dict[str, ast.stmt]:
    """Return the checks of a file, its own and standard ones, by their names without `test_`."""
    found: dict[str, ast.stmt] = {**files.find_functions(path)}
    for node in files.parse(path).body:
        match node:
            case ast.Assign([ast.Name(name)]):
                found[name] = node
    return {name[5:]: node for name, node in found.items() if name.startswith("test_")}


def find_in_variants(step: Step) -> Found:
    """Yield what is missing or inconsistent in the known mistakes and the fair variants."""
    mistakes, fair = read(files.MISTAKES, step), read(files.FAIR, step)
    wrong, right = files.MISTAKES / step.filename, files.FAIR / step.filename
    functions, checks = {one.name for one in step.functions}, {one.id for one in step.checks}
    for path, variants in ((wrong, mistakes), (right, fair)):
        for variant in variants:
            for name in set(variant.replacements) - functions:
                yield path, f": {variant.name} replaces {name}, which {step.id} does not have"
        for name in _find_repeated(variant.name for variant in variants):
            yield path, f": two functions are called {name}"
        for name in functions - {name for variant in variants for name in variant.replacements}:
            yield path, f"has no version of {name}"
    for mistake in mistakes:
        if problem := _find_in_mistake(mistake, checks):
            yield wrong, f": {mistake.name} {problem}"
    for check in checks - {mistake.caught_by for mistake in mistakes}:
        yield wrong, f": no known mistake is caught by {check}; write one"
    # Mistakes of one kind share their id on purpose, also within a function.
    for name, _ in _find_repeated((variant.id, variant.replaces) for variant in fair):
        yield right, f": two variants of a function are called {name}"


def _find_in_mistake(mistake: Variant, checks: set[str]) -> str:
    if not mistake.caught_by:
        return "is caught by no check; if `make build` finds none, fix the check"
    if mistake.caught_by not in checks:
        return f"is caught by {mistake.caught_by}, which is not a check of {mistake.step}"
    if not mistake.says.endswith((".", "?")):
        return "should say a sentence in `says`"
    return "" if mistake.hint else "has no hint"


def _find_repeated(items: Iterable[Any]) -> list[Any]:
    return [item for item, count in Counter(items).items() if count > 1]


# Guides, and what is left to do.


def find_in_guides(registry: Registry, step: Step) -> Found:
    """Yield the guides that lack this step: its row, the range of its part, and the overview."""
    text = files.read_text(files.STUDENT)
    row = re.search(rf"(?m)^\| {step.number} \| (`[^|]*`) \|", text)
    names = [function.name for function in step.functions]
    if re.findall(r"`(\w+)`", row[1] if row else "") != names:
        listed = ", ".join(f"`{name}`" for name in names)
        yield files.STUDENT, f"has no row `| {step.number} | {listed} | …`"
    for part in (one for one in registry.parts if one.number == step.part):
        steps = registry.of(part)
        whole = rf"{steps[0].number}\s+to\s+{steps[-1].number}"
        if not re.search(rf"{part.name} \((?:steps )?{whole}\)", text):
            said = f"{steps[0].number} to {steps[-1].number}"
            yield files.STUDENT, f"should say that {part.name} has steps {said}"
    rows = re.findall(
        r"(?m)^\| (\d+)(?: (?:and|to) (\d+))? \|", files.read_text(files.PREFACE_TEXT)
    )
    if not any(int(first) <= step.number <= int(last or first) for first, last in rows):
        yield files.PREFACE_TEXT, f": no row of its table covers step {step.number}"


def _find_todos(paths: Iterable[Path]) -> Found:
    for path in paths:
        for number, line in enumerate(files.read_text(path).splitlines(), 1):
            if TODO in line:
                yield path, f":{number} still says {TODO}"
