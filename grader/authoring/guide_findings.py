"""Find which guides do not know a step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.authoring import step_files as files
from grader.steps.registry import Part, Registry, Step


def find_in_guides(registry: Registry, step: Step) -> Iterator[str]:
    """Yield the guides that lack this step."""
    yield from find_in_student_table(step)
    yield from find_in_ranges(registry, step)
    yield from find_in_overview(step)


def find_in_student_table(step: Step) -> Iterator[str]:
    """Yield a sentence unless the students' table lists the step's functions."""
    text = files.read_text(files.STUDENT)
    row = re.search(rf"(?m)^\| {step.number} \| (`[^|]*`) \|", text)
    names = [function.name for function in step.functions]
    if re.findall(r"`(\w+)`", row[1] if row else "") != names:
        listed = ", ".join(f"`{name}`" for name in names)
        yield f"{files.name(files.STUDENT)} has no row `| {step.number} | {listed} | …`."


def find_in_ranges(registry: Registry, step: Step) -> Iterator[str]:
    """Yield a sentence unless the students' guide says which steps the part has."""
    for part in (one for one in registry.parts if one.number == step.part):
        steps = registry.of(part)
        whole = f"{steps[0].number} to {steps[-1].number}"
        found = find_range(files.read_text(files.STUDENT), part)
        if " ".join(found.split()) != whole:
            yield f"{files.name(files.STUDENT)} should say that {part.name} has steps {whole}."


def find_range(text: str, part: Part) -> str:
    """Return the steps that the students' guide gives a part.

    >>> find_range("Part I (steps 1 to 8) is about attention.", Part(1, "a"))
    '1 to 8'
    """
    found = re.search(rf"{part.name} \((?:steps )?(\d+\s+to\s+\d+)\)", text)
    return found[1] if found else ""


def find_in_overview(step: Step) -> Iterator[str]:
    """Yield a sentence unless a row of the table in the lesson of step 0 covers the step."""
    rows = re.findall(r"(?m)^\| (\d+)(?: (and|to) (\d+))? \|", files.read_text(files.PREFACE_TEXT))
    spans = [(int(first), int(last or first)) for first, _, last in rows]
    if not any(first <= step.number <= last for first, last in spans):
        yield f"{files.name(files.PREFACE_TEXT)}: no row of its table covers step {step.number}."
