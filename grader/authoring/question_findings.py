"""Find what the questions and the hints of a step lack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from grader.authoring import step_files as files
from grader.steps.quiz import KINDS, AnswerError, read, without_answers
from grader.steps.registry import Registry, Step

LEAST = 5
COMPUTED = frozenset({"number", "matrix", "shape", "positions"})
LEVELS = ("The idea: ", "Where to look: ", "A question: ")
COMPLETE = frozenset({"causal_mask"})  # its last hint has no `...`, but words


def find_in_questions(step: Step) -> Iterator[str]:
    """Yield what is missing or inconsistent in the questions about a lesson."""
    where, entries = _where(step), files.read_questions(step)
    ids = [str(entry.get("id", "")) for entry in entries]
    wanted = [f"{step.number}{'abcdefghijklmnop'[i]}" for i in range(len(entries))]
    if len(entries) < LEAST:
        yield f"{where} has {len(entries)} questions; a step has at least {LEAST}."
    if ids != wanted:
        yield f"{where}: the questions are called {', '.join(ids)}, not {', '.join(wanted)}."
    for entry in entries:
        yield from _find_in_question(f"{where}: {entry.get('id')}", entry)
    if not any(one.get("kind") == "open" and "two sentences" in one["ask"] for one in entries):
        yield f'{where} has no question of kind "open" that asks for "two sentences".'
    yield from _find_in_keys(step, entries)


def _find_in_question(where: str, entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with one question: its form, its answers, and its options."""
    kind = entry.get("kind")
    for key in ("id", "ask", "why", *(() if kind == "open" else ("answer",))):
        if key not in entry:
            yield f"{where} lacks `{key}`."
            return
    if kind not in KINDS:
        yield f"{where}: its kind should be one of {', '.join(KINDS)}."
        return
    try:
        answers = _read_answers(entry)
    except (AnswerError, ValueError, KeyError) as error:
        yield f"{where}: an answer cannot be read ({str(error).rstrip('.')})."
        return
    if len(set(answers)) < len(answers):
        yield f"{where}: two answers are the same."
    if len(answers) == 1 and kind != "open":
        yield f"{where} has no wrong answer with its reason."
    if kind == "choice" and set(answers) != set(entry["options"]):
        yield f"{where}: each option needs a reason, as the answer or in `wrong`."


def _read_answers(entry: Mapping[str, Any]) -> list[str]:
    """Return the normal form of the right answer and of the wrong ones."""
    question = without_answers(entry)
    answers = [entry.get("answer", ""), *(one["answer"] for one in entry.get("wrong", ()))]
    return [read(question, answer) for answer in answers]


def _find_in_keys(step: Step, entries: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the questions whose answer is computed nowhere, and the keys without a question."""
    computed = {str(one.get("id")) for one in entries if one.get("kind") in COMPUTED}
    kinds = ", ".join(sorted(COMPUTED))
    keys = files.read_keys(files.KEYS, "KEYS")
    own = {key for key in keys if re.fullmatch(rf"{step.number}[a-z]", key)}
    for one in sorted(computed - own):
        yield (
            f"{files.name(files.KEYS)}: KEYS has no {one}; compute the answer of every question "
            f"of the kinds {kinds}."
        )
    for one in sorted(own - computed):
        yield f"{files.name(files.KEYS)}: KEYS has {one}, which {_where(step)} does not ask so."


def find_in_hints(step: Step) -> Iterator[str]:
    """Yield what is missing in the hints of a step, from the idea to the function with one hole."""
    where = files.name(files.DATA / f"{step.id}.toml")
    yield from _find_in_levels(where, step.hints)
    for name, hints in files.load_toml(files.DATA / f"{step.id}.toml").get("hints_for", {}).items():
        yield from _find_in_levels(f"{where}: hints_for.{name}", tuple(hints))
    entries = files.load_toml(files.BOTTOM)
    for function in step.functions:
        bottom = entries.get(function.name, {})
        yield from _find_in_bottom(step, function.name, bottom)


def _find_in_levels(where: str, hints: tuple[str, ...]) -> Iterator[str]:
    if len(hints) != len(LEVELS):
        yield f"{where} has {len(hints)} hints; there should be three: idea, place, question."
    for hint, level in zip(hints, LEVELS, strict=False):
        if not hint.startswith(level):
            yield f"{where}: a hint should begin with `{level.strip()}`."


def _find_in_bottom(step: Step, name: str, bottom: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the last two hints of a function."""
    where = files.name(files.BOTTOM)
    if set(bottom) - {"wrong"} != {"tool", "almost"}:
        yield f"{where} should have [{name}] with `tool` and `almost`, its last two hints."
        return
    lines = bottom["almost"].strip().splitlines()[1:]
    if (len(lines) > 1) != bool(bottom.get("wrong")):
        yield f"{where}: `wrong` of {name} should list a line that does not belong to the others."
    if set(lines) & set(bottom.get("wrong", ())):
        yield f"{where}: a line of {name} is in `wrong` and in `almost`."
    if not bottom["tool"].strip().startswith("The tool: "):
        yield f"{where}: the `tool` of {name} should begin with `The tool: `."
    if not bottom["almost"].strip().startswith("Almost there:"):
        yield f"{where}: the `almost` of {name} should begin with `Almost there:`."
    if "..." not in bottom["almost"] and name not in COMPLETE:
        yield f"{where}: the `almost` of {name} should leave a hole, `...`."
    for line in bottom["tool"].strip().split("\n")[1:]:
        if not _is_code(line):
            yield f"{where}: the `tool` of {name} has a line that is not code: {line}."
    if not _leaves_a_line(step, name, bottom):
        yield f"{where}: the hints of {name} contain every line of its solution."


def _is_code(line: str) -> bool:
    body = "        pass\n" if line.endswith(":") else ""
    try:
        compile(f"if True:\n    {line}\n{body}", "hint", "exec")
    except SyntaxError:
        return False
    return True


def _leaves_a_line(step: Step, name: str, bottom: Mapping[str, Any]) -> bool:
    """Return whether a line of the function's solution is in neither of its last hints."""
    text = files.read_text(files.SOLUTIONS / step.filename)
    solution = re.search(rf"^def {name}\(.*?### BEGIN SOLUTION\n(.*?)### END", text, re.S | re.M)
    hints = (bottom["tool"], bottom["almost"], *bottom.get("wrong", ()))
    told = {_strip(line) for hint in hints for line in hint.split("\n")}
    lines = solution[1].splitlines() if solution else ()
    return solution is None or any(_strip(line) not in told | {""} for line in lines)


def _strip(line: str) -> str:
    """Return a line of code without its comment and its indentation."""
    return re.sub(r"\s*#.*", "", line).strip()


def find_unknown_hints(registry: Registry) -> Iterator[str]:
    """Yield a sentence for each pair of last hints that no function has."""
    for name in files.load_toml(files.BOTTOM).keys() - registry.homes.keys():
        yield f"{files.name(files.BOTTOM)} has hints for {name}, which no step asks for."


def _where(step: Step) -> str:
    return files.name(files.QUESTIONS / f"{step.id}.toml")
