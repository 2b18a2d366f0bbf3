"""Look up the results of known mistakes, for a kit that must not hold any right code.

A student's bundle has neither solutions nor known mistakes, so nothing can be replayed there. But
the visible checks ask everybody the same questions. So each mistake's answers to them are written
down beforehand (`grader.authoring.bundle.writing`), and a cause is found by looking them up.
"""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.tolerances import EXACT, FLOAT32
from grader.diagnosis.calls import Call, Symptoms, holds_single
from grader.diagnosis.cause_sentences import name_replaced
from grader.diagnosis.replay import KINDS, error_key, errors_agree
from grader.diagnosis.search import writes_into
from grader.isolation.client import Raised
from grader.isolation.wire import Foreign, Handle
from grader.report.records import Diagnosis
from grader.steps.paths import PACKAGE
from grader.steps.registry import Step
from grader.steps.tree import pairs

ANSWERS = PACKAGE / "answers"
DIGITS = 10  # that are written down
GOLDEN = (5**0.5 - 1) / 2
MAX_WORDS = 120  # letters of an error's text
OPAQUE = "opaque"
RIGHT = "right"
NEAR = 10 * EXACT.rtol
Answer = dict[str, Any]  # a call's outcome: the function, its value or the error, and more


def describe_call(call: Call) -> Answer:
    """Return a call's outcome as JSON data.

    touched: whether arguments were written into, if the check asked for them.
    """
    done: Answer = {"function": call.function}
    if products := call.more.get("products"):
        done["products"] = products
    if (after := call.more.get("after")) is not None:
        given = [list(call.args), dict(call.kwargs)]
        done["touched"] = not is_same(_plain(given), _plain(after), 0)
    if isinstance(call.outcome, Raised):
        return {**done, "raised": call.outcome.type, "words": call.outcome.text[:MAX_WORDS]}
    return {**done, "value": _plain(call.outcome)}


def _plain(value: Any) -> Any:
    """Return a value as JSON data, without the parts that only student code looks into."""
    match value:
        case Handle() | Foreign():
            return OPAQUE
        case np.ndarray() | np.generic() | bool() | int() | float():
            return _numbers(np.asarray(value))
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    array = getattr(value, "array", None)
    return value if array is None else _plain(array)


def _numbers(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array in short: one sum, in which every place has a weight of its own.

    A single number becomes an array without axes. odd: where numbers are not finite.
    """
    kind = KINDS.get(array.dtype.kind, array.dtype.kind)
    if kind not in KINDS.values():
        return {"shape": list(array.shape), "kind": kind}
    numbers, odd = array.astype(float).ravel(), {}
    if not np.isfinite(numbers).all():
        kinds = np.isnan(numbers) + 2 * np.isposinf(numbers) + 3 * np.isneginf(numbers)
        odd = {"odd": zlib.crc32(kinds.astype(np.uint8))}
        numbers = np.where(kinds, 0.0, numbers)
    with np.errstate(all="ignore"):
        whole = (0.5 + np.arange(numbers.size) * GOLDEN % 1) @ numbers
    return {"shape": list(array.shape), "kind": kind, "sum": float(f"{whole:.{DIGITS}g}"), **odd}


def is_same(one: Any, other: Any, tolerance: float = NEAR) -> bool:
    """Return whether data are equal except for rounding."""
    return all(
        abs(a - b) <= tolerance * (1 + abs(b))
        if isinstance(a, float) and isinstance(b, float)
        else bool(a == b)
        for _, a, b in pairs(one, other)
    )


@dataclass(frozen=True)
class KnownAnswers:
    """One mistake: its description, the functions that it replaces, and its answers.

    wrong: by check, the number of the first call that it answers otherwise than right code, and the
    answers from there on. All other calls it answers like right code.
    """

    id: str
    says: str
    hint: str
    replaced: Sequence[str]
    wrong: Mapping[str, tuple[int, Sequence[Answer]]]


def find_explaining(
    right: Mapping[str, Sequence[Answer]],
    known: Sequence[KnownAnswers],
    calls: Mapping[str, Sequence[Call]],
    function: str,
    own: Sequence[str],
) -> list[KnownAnswers]:
    """Return the mistakes that reproduce the results of the function's own checks.

    Mistakes that explain most of the other checks come first; among these, those in the function
    itself. right: right code's answers, by check, in the order of the calls.
    """
    came = {name: list(map(describe_call, of)) for name, of in calls.items()}
    refusals = {
        error_key(answer)
        for check, answers in came.items()
        for answer, told in zip(answers, right.get(check, ()))
        if "raised" in answer and answer["raised"] == told.get("raised")
    }

    def explains(one: KnownAnswers, check: str) -> bool:
        usual = right.get(check, ())
        place, wrong = one.wrong.get(check, (len(usual), ()))
        answers = [*usual[:place], *wrong]
        if len(came[check]) != len(answers):
            return False
        both = zip_longest(calls[check], came[check], answers, usual[: len(answers)])
        return all(_agree(*each, refusals) for each in both)

    def rank(one: KnownAnswers) -> tuple[int, bool]:
        return -sum(explains(one, check) for check in came), function not in one.replaced

    return sorted((one for one in known if all(explains(one, name) for name in own)), key=rank)


def _agree(
    call: Call, came: Answer, told: Answer, right: Answer | None, refusals: Set[tuple[str, str]]
) -> bool:
    """Return whether a call came out as with a mistake. refusals: words that right code raises."""
    if "raised" in came and "raised" in told:
        kind, passed = (right or {}).get("raised"), bool(call.more.get("passed"))
        if errors_agree(told, came, kind, passed=passed, refusing=error_key(came) in refusals):
            return True
    return is_same(told, came, FLOAT32.rtol if holds_single(call) else NEAR)


@cache
def _read_book(name: str) -> tuple[Mapping[str, Sequence[Answer]], Sequence[KnownAnswers]]:
    """Return right code's answers and the known mistakes of a step; nothing where none are kept."""
    path = ANSWERS / f"{name}.json.gz"
    if not path.is_file():
        return {}, ()
    data = json.loads(gzip.decompress(path.read_bytes()))
    return data[RIGHT], [KnownAnswers(**one) for one in data["known"]]


def look_up(step: Step, symptoms: Symptoms) -> Diagnosis | None:
    """Return the mistake that reproduces the results of all of the function's checks."""
    function, log = symptoms.function, symptoms.log
    if not log.whole:
        return None
    if (written := writes_into(symptoms)) is not None:
        return written
    own = [one.id for one in step.function(function).checks if one.id in log.spans]
    calls = {name: log.of(name) for name in log.spans}
    for one in find_explaining(*_read_book(step.id), calls, function, own):
        return name_replaced(Diagnosis(one.id, one.hint, one.says), one.replaced, step)
    return None
