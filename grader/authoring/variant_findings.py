"""Find what the known mistakes and the fair variants of a step lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from grader.answer_key.variants import Variant, read
from grader.authoring import step_files as files
from grader.steps.registry import Step

_T = TypeVar("_T")


def find_in_variants(step: Step) -> Iterator[str]:
    """Yield what is missing or inconsistent in the known mistakes and the fair variants."""
    mistakes, fair = read(files.MISTAKES, step), read(files.FAIR, step)
    for variant in (*mistakes, *fair):
        yield from _find_in_variant(variant, step)
    yield from _find_uncovered(step, mistakes, fair)
    yield from _find_twins(step, mistakes, fair)


def _where(step: Step, kind: str) -> str:
    folder = files.MISTAKES if kind == "mistake" else files.FAIR
    return files.name(folder / step.filename)


def _find_in_variant(variant: Variant, step: Step) -> Iterator[str]:
    where = f"{_where(step, variant.kind)}: {variant.name}"
    functions = {function.name for function in step.functions}
    for name in variant.places:
        if name not in functions:
            yield f"{where} replaces {name}, which is not a function of {step.id}."
    if variant.kind == "fair":
        return
    if not variant.caught_by:
        yield f"{where} is caught by no check; if `make build` finds none, fix the check."
    elif variant.caught_by not in {check.id for check in step.checks}:
        yield f"{where} is caught by {variant.caught_by}, which is not a check of {step.id}."
    if not variant.says.endswith((".", "?")):
        yield f"{where}: `says` should be a sentence."
    if not variant.hint:
        yield f"{where} has no hint."


def _find_uncovered(
    step: Step, mistakes: Sequence[Variant], fair: Sequence[Variant]
) -> Iterator[str]:
    """Yield the checks that catch nothing, and the functions without a mistake or a variant."""
    wrong, right = _where(step, "mistake"), _where(step, "fair")
    caught = {variant.caught_by for variant in mistakes}
    for check in (check.id for check in step.checks if check.id not in caught):
        yield f"{wrong}: no known mistake is caught by {check}; write one."
    for name in (function.name for function in step.functions):
        if not any(name in variant.places for variant in mistakes):
            yield f"{wrong} has no known mistake in {name}."
        if not any(name in variant.places for variant in fair):
            yield f"{right} has no other way to write {name}."


def _find_twins(step: Step, mistakes: Sequence[Variant], fair: Sequence[Variant]) -> Iterator[str]:
    """Yield names that two functions have, and ids that two fair variants of a function have.

    Mistakes of one kind share their id on purpose, also within a function.
    """
    wrong, right = _where(step, "mistake"), _where(step, "fair")
    for where, variants in ((wrong, mistakes), (right, fair)):
        for name in _find_repeated(variant.name for variant in variants):
            yield f"{where}: two functions are called {name}."
    for name, _ in _find_repeated((variant.id, variant.replaces) for variant in fair):
        yield f"{right}: two variants of a function are called {name}."


def _find_repeated(items: Iterable[_T]) -> list[_T]:
    return [item for item, count in Counter(items).items() if count > 1]
