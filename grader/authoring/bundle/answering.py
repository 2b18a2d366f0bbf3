"""Write down the answers of known mistakes to the visible checks: see `grader.diagnosis.lookup`.

Right code and every mistake are put to the checks as submissions. Each check's answers of a mistake
are stored from the first wrong one on.
"""

import gzip
import json
from collections.abc import Mapping
from typing import Any

from grader.answer_key.variants import MISTAKES, read
from grader.diagnosis.lookup import RIGHT, describe_call, is_same
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import CallFailed
from grader.steps.registry import Step

Notes = dict[str, list[Any]]


def _ask(grader: Grader, submission: Submission, step: Step) -> Notes:
    """Return what code answers in each check; nothing if it does not end."""
    try:
        _, log = grader.find_causes(submission, step)
    except CallFailed:
        return {}
    return {check: list(map(describe_call, log.of(check))) for check in log.spans if log.whole}


def _find_wrong(answers: Notes, right: Mapping[str, list[Any]]) -> Notes:
    """Return the place of the first wrong answer in each check, and the answers from there on."""
    wrong = {}
    for check, found in answers.items():
        places = (n for n, both in enumerate(zip(found, right[check])) if not is_same(*both))
        if (place := next(places, None)) is not None:
            wrong[check] = [place, found[place:]]
    return wrong


def book(grader: Grader, step: Step) -> bytes:
    """Return the step's book as it is stored. The grader is not thorough."""
    right = _ask(grader, Submission("right", grader.right), step)
    known = []
    for variant in read(MISTAKES, step):
        if wrong := _find_wrong(_ask(grader, variant.submission, step), right):
            about = {name: getattr(variant, name) for name in ("id", "says", "hint")}
            known.append({**about, "replaced": list(variant.replacements), "wrong": wrong})
    return pack({RIGHT: right, "known": known})


def pack(data: Any) -> bytes:
    """Return reproducible bytes for the same data."""
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)
