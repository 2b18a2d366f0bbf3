"""Write down the answers of known mistakes to the visible checks: see `grader.diagnosis.lookup`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

from grader.answer_key.variants import Variant
from grader.diagnosis.calls import Log
from grader.diagnosis.lookup import RIGHT, describe_call
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import CallFailed
from grader.steps.registry import Step

Notes = dict[str, list[Any]]


def candidates(grader: Grader, step: Step) -> list[Variant]:
    """Return the mistakes in the step's functions and in those that they call, each once."""
    found: dict[tuple[str, str], Variant] = {}
    for function in step.functions:
        for _, causes in zip(range(3), grader.library.causes(step, function.name)):
            for variant in (variant for cause in causes for variant in cause.variants):
                found.setdefault((variant.step, variant.name), variant)
    return list(found.values())


def _notes(step: Step, log: Log) -> Notes:
    return {
        check.id: [describe_call(call) for call in log.of(check.id)]
        for check in step.checks
        if check.id in log.spans
    }


def _answers(grader: Grader, step: Step, variant: Variant) -> Notes:
    """Return the results of the right step with that mistake in it, or in an earlier step."""
    right = grader.right
    sources = {**right, variant.step: variant.source}
    submission = Submission(variant.name, {step.id: sources[step.id]} | sources)
    earlier = {name: sources[name] for name in right}
    verdicts, log = grader.find_causes(submission, step, earlier)
    return _notes(step, log) if log.whole and any(not v.points for v in verdicts) else {}


def _entry(variant: Variant, notes: Notes, right: Notes) -> dict[str, Any]:
    answers: dict[str, Mapping[str, Any]] = {}
    for check, calls in notes.items():
        known = right.get(check, [])
        other = {
            str(number): call
            for number, call in enumerate(calls)
            if number >= len(known) or known[number] != call
        }
        if other:
            answers[check] = other
    return {
        "id": variant.id,
        "says": variant.says,
        "hint": variant.hint,
        "places": list(variant.places),
        "asked": {check: len(calls) for check, calls in notes.items()},
        "answers": answers,
    }


def book(
    grader: Grader, step: Step, tell: Callable[[int, int], None] = lambda done, of: None
) -> bytes:
    """Return the step's book as it is stored. tell: called with the mistakes done, and with all."""
    submission = Submission("right", grader.right)
    _, log = grader.find_causes(submission, step)
    right = _notes(step, log)
    variants, known = candidates(grader, step), []
    for number, variant in enumerate(variants):
        tell(number, len(variants))
        try:
            notes = _answers(grader, step, variant)
        except CallFailed:
            continue  # it cannot be loaded in place of an earlier step
        if notes:
            known.append(_entry(variant, notes, right))
    return pack({RIGHT: right, "known": known})


def pack(data: Any) -> bytes:
    """Return reproducible bytes for the same data."""
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)
