"""Find what a lesson lacks: its head, its length, what to try first, and the example by hand."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterator

from grader.authoring import step_files as files
from grader.engine.abilities import read_abilities
from grader.steps.registry import Part, Registry, Step
from grader.steps.stubs import SELF_STUDY

LEAST, MOST = 600, 900  # words before the last stub
ABILITIES = range(2, 6)
_MAP = re.compile(r"^# \*The course:\*.*?(?=^#?$)", re.DOTALL | re.MULTILINE)


def find_in_lesson(registry: Registry, step: Step) -> Iterator[str]:
    """Yield what is missing or inconsistent in the step's lesson and its solution."""
    yield from find_in_head(step)
    yield from find_in_functions(step)
    yield from find_in_abilities(step)
    yield from find_in_maps(registry, step)
    yield from find_in_length(step)
    yield from find_in_tries(step)
    yield from find_in_example(step)


def find_in_head(step: Step) -> Iterator[str]:
    """Yield what is wrong with the first lines."""
    where, lines = _where(step), _read(step).splitlines()
    head = f"# # Step {step.number} — "
    if not (lines[:1] == ["# %% [markdown]"] and "".join(lines[1:2]).startswith(head)):
        yield f"{where} should begin with `# %% [markdown]` and `{head}…`."


def find_in_functions(step: Step) -> Iterator[str]:
    """Yield what is wrong with the functions of the solution."""
    where, lines = _where(step), _read(step).splitlines()
    data = files.name(files.DATA / f"{step.id}.toml")
    found = files.find_functions(files.SOLUTIONS / step.filename)
    for function in step.functions:
        node = found.get(function.name)
        if node is None:
            yield f"{where} has no function {function.name}, which {data} asks for."
            continue
        takes = tuple(arg.arg for arg in node.args.args)[: len(function.takes)]
        if takes != function.takes:
            yield (
                f"{where}:{node.lineno}: {function.name} takes {', '.join(takes)}; "
                f"{data} says {', '.join(function.takes)}."
            )
        if ">>>" not in (ast.get_docstring(node) or ""):
            yield f"{where}:{node.lineno}: the docstring of {function.name} has no example."
        if "### BEGIN SOLUTION" not in "\n".join(lines[node.lineno - 1 : node.end_lineno]):
            yield f"{where}:{node.lineno}: {function.name} has no `### BEGIN SOLUTION`."


def find_in_abilities(step: Step) -> Iterator[str]:
    """Yield a sentence unless the lesson says what its reader can do afterwards."""
    count = len(read_abilities(_read(step)))
    if count not in ABILITIES:
        yield (
            f"{_where(step)} lists {count} points under `**After this you can**`; "
            f"it should list {ABILITIES[0]} to {ABILITIES[-1]}."
        )


def find_in_maps(registry: Registry, step: Step) -> Iterator[str]:
    """Yield the lessons of the step's part whose map of the course does not name this step."""
    for part in registry.parts:
        for other in registry.of(part) if part.number == step.part else ():
            named = rf"\[{step.number} " if other == step else rf"(?<!\d){step.number} "
            if not re.search(named, read_map(_read(other), part)):
                yield (
                    f"{_where(other)}: the map below `*The course:*` does not name step "
                    f"{step.number} in {part.name}."
                )


def read_map(text: str, part: Part) -> str:
    r"""Return what the lesson's map of the course says about that part, in one line.

    >>> read_map("# *The course:* **I a:** 1 b, [2\n# c] · II d\n#\n", Part(1, "a"))
    '**I a:** 1 b, [2 c] '
    """
    found = re.search(rf"\*\*{_roman(part)} [^·]*", _join_map(text))
    return found[0] if found else ""


def with_step_in_map(text: str, part: Part, words: str) -> str:
    """Return the lesson with one more step at the end of its part in the map of the course."""
    old = read_map(text, part)
    if not old:
        return text
    line = _join_map(text).replace(old, f"{old.rstrip()}, {words}{' ' * old.endswith(' ')}")
    new = textwrap.fill(
        line,
        90,
        initial_indent="# ",
        subsequent_indent="# ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return _MAP.sub(lambda _: f"{new}\n", text, count=1)


def cut_map(text: str) -> str:
    """Return the paragraph of a lesson that is its map of the course, or ""."""
    found = _MAP.search(text)
    return found[0] if found else ""


def _join_map(text: str) -> str:
    return " ".join(line.removeprefix("# ") for line in cut_map(text).splitlines())


def _roman(part: Part) -> str:
    return part.name.removeprefix("Part ")


def find_in_length(step: Step) -> Iterator[str]:
    """Yield a sentence if the lesson is long or short before its last stub."""
    cells = list(read_cells(_read(step)))
    stubs = [number for number, (text, cell) in enumerate(cells) if not text and "def " in cell]
    before = cells[: stubs[-1]] if stubs else cells
    words = sum(len(read_prose(cell)) for text, cell in before if text)
    if not LEAST <= words <= MOST:
        yield (
            f"{_where(step)} has {words} words of prose before its last stub; "
            f"it should have {LEAST} to {MOST}."
        )


def read_cells(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the Markdown and code cells of a lesson: whether a cell is text, and what it says."""
    cells = re.split(r"(?m)^# %% ?", text)
    for head, _, body in (cell.partition("\n") for cell in cells[1:]):
        is_text = head.startswith("[markdown]")
        if SELF_STUDY not in head:
            yield is_text, re.sub(r"(?m)^# ?", "", body) if is_text else body


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


def find_in_tries(step: Step) -> Iterator[str]:
    """Yield the functions with checks whose stub does not say what to try first."""
    named = {function.name for function in step.functions if function.checks}
    for (is_text, before), (_, code) in itertools.pairwise(read_cells(_read(step))):
        for name in re.findall(r"(?m)^def (\w+)\(", code):
            if name in named and not (is_text and "**Try first" in before):
                yield (
                    f"{_where(step)}: the text before {name} should end with `**Try first:**` "
                    f"and a call."
                )


def find_in_example(step: Step) -> Iterator[str]:
    """Yield a sentence unless a question or an example checks the reader's number by hand."""
    text = "\n".join(cell for is_text, cell in read_cells(_read(step)) if is_text)
    section = re.search(r"(?ms)^## By hand.*?(?=^## (?!Several)|\Z)", text)
    if section is None:
        yield f"{_where(step)} has no section `## By hand`."
        return
    plain = " ".join(section[0].split()).replace(", further down, checks", " checks")
    checks = re.findall(r"[Qq]uestion (\d+[a-z]) checks|example of `(\w+)` checks", plain)
    if not checks:
        yield (
            f"{_where(step)}: `## By hand` should leave one number to the reader, and say that "
            f"`question {step.number}a checks it` or `the example of `function` checks it`."
        )
    known = {one["id"] for one in files.read_questions(step)} | {f.name for f in step.functions}
    for one in {"".join(found) for found in checks} - known:
        yield f"{_where(step)}: `## By hand` names {one}, which the step does not have."


def _where(step: Step) -> str:
    return files.name(files.SOLUTIONS / step.filename)


def _read(step: Step) -> str:
    return files.read_text(files.SOLUTIONS / step.filename)
