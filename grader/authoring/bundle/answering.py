"""Write down the answers of known mistakes to the visible checks: see `grader.diagnosis.lookup`.

The checks ask right code once. Then each mistake answers the same calls, in each check until soon
after its first wrong answer.
"""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from grader.answer_key.variants import MISTAKES, Variant, read
from grader.diagnosis.calls import Call, Log
from grader.diagnosis.library import Cause, find_used
from grader.diagnosis.lookup import RIGHT, describe, describe_call, is_same_answer, number_question
from grader.diagnosis.replay_client import Replay
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import CallFailed, Raised
from grader.steps.registry import Step

Notes = dict[str, list[Any]]
AT_ONCE = 20  # mistakes in a message to the worker


def _replay(
    replay: Replay, variants: Sequence[Variant], spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[Variant, list[Any]]]:
    """Yield the mistakes with what they do in these spans; leave out those that do not end."""
    for start in range(0, len(variants), AT_ONCE):
        some = variants[start : start + AT_ONCE]
        try:
            yield from zip(some, replay.list_outcomes([Cause((one,)) for one in some], spans))
        except CallFailed:
            for one in some:
                with contextlib.suppress(CallFailed):
                    (found,) = replay.list_outcomes([Cause((one,))], spans)
                    yield one, found


def _answer(call: Call, outcome: Any, products: int, touched: bool | None) -> list[Any]:
    """Return an answer from the replay as it is stored."""
    if isinstance(outcome, dict) and "raised" in outcome:
        outcome = Raised(outcome["raised"], (), outcome["words"], ())
    return describe(call.function, outcome, products, touched=touched)


def _find_wrong(log: Log, found: Sequence[Sequence[Any]], right: Notes) -> dict[str, list[Any]]:
    """Return the place of the first wrong answer in each check, and the answers from there on."""
    wrong = {}
    for check, outcomes in zip(log.spans, found):
        answers = [_answer(call, *outcome) for call, outcome in zip(log.of(check), outcomes)]
        places = (n for n, one in enumerate(answers) if not is_same_answer(one, right[check][n]))
        if (place := next(places, None)) is not None:
            wrong[check] = [place, answers[place:]]
    return wrong


def _group(step: Step, log: Log, source: str) -> Iterator[tuple[list[Variant], Log]]:
    """Yield the mistakes in the same functions, with the checks that these matter for."""
    groups: dict[tuple[str, ...], list[Variant]] = {}
    for variant in read(MISTAKES, step):
        groups.setdefault(tuple(variant.places), []).append(variant)
    for places, variants in groups.items():
        users = {f.name for f in step.functions if find_used(source, f.name) & {*places}}
        checks = {one.id for one in step.checks if one.function in users | {*places}}
        spans = {check: span for check, span in log.spans.items() if check in checks}
        yield variants, replace(log, spans=spans)


def book(grader: Grader, step: Step) -> bytes:
    """Return the step's book as it is stored."""
    _, log = grader.find_causes(Submission("right", grader.right), step)
    right = {check: list(map(describe_call, log.of(check))) for check in log.spans}
    asked = {check: list(map(number_question, log.of(check))) for check in log.spans}
    known = []
    with Replay(grader.library, step, log.calls) as replay:
        for variants, part in _group(step, log, grader.right[step.id]):
            for variant, found in _replay(replay, variants, list(part.spans.values())):
                if wrong := _find_wrong(part, found, right):
                    about = {name: getattr(variant, name) for name in ("id", "says", "hint")}
                    known.append({**about, "places": list(variant.places), "wrong": wrong})
    return pack({RIGHT: right, "asked": asked, "known": known})


def pack(data: Any) -> bytes:
    """Return reproducible bytes for the same data."""
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)
