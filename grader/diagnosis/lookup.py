"""Look up the results of known mistakes, for a kit that must not hold any right code.

A student's bundle has neither solutions nor known mistakes, so nothing can be replayed there. But
the visible checks ask everybody the same questions. So each mistake's answers to them are written
down beforehand (`grader.authoring.bundle.answering`), and a cause is found by looking them up.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.tolerances import EXACT, FLOAT32
from grader.diagnosis.calls import Call, Failure, holds_single
from grader.diagnosis.library import name_place
from grader.diagnosis.replay import KINDS, errors_agree, wording
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


def describe_call(call: Call) -> list[Any]:
    """Return a call's outcome as JSON data: the function, and what it did.

    touched: whether arguments were written into, if the check asked for them.
    """
    done: dict[str, Any] = {}
    if products := call.more.get("products"):
        done["products"] = products
    if (after := call.more.get("after")) is not None:
        given = [list(call.args), dict(call.kwargs)]
        done["touched"] = not _same(_plain(given), _plain(after), 0)
    if isinstance(call.outcome, Raised):
        error = {"raised": call.outcome.type, "words": call.outcome.text[:MAX_WORDS]}
        return [call.function, error, done]
    return [call.function, _plain(call.outcome), done]


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
        whole = _weigh_places(numbers.size) @ numbers
    return {"shape": list(array.shape), "kind": kind, "sum": float(f"{whole:.{DIGITS}g}"), **odd}


@lru_cache(maxsize=64)
def _weigh_places(size: int) -> NDArray[Any]:
    """Return the weight of each place of an array in its sum."""
    return 0.5 + np.arange(size) * GOLDEN % 1


def _same(one: Any, other: Any, tolerance: float) -> bool:
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
    places: Sequence[str]
    wrong: Mapping[str, tuple[int, Sequence[Any]]]

    def diagnosis_in(self, step: Step) -> Diagnosis:
        """Return the name for the report on a step."""
        return name_place(Diagnosis(self.id, self.hint, self.says), self.places, step)


# A call, what it did, and the tolerance of a comparison with it.
Came = tuple[Call, list[Any], float]


def _came(call: Call) -> Came:
    return call, describe_call(call), FLOAT32.rtol if holds_single(call) else NEAR


def _read_error(answer: Any) -> dict[str, Any] | None:
    """Return the error that a call ended with, if it did."""
    outcome = answer[1] if answer else None
    return outcome if isinstance(outcome, dict) and "raised" in outcome else None


def _same_error(wanted: Any, came: Any, right: Any, passed: bool, refusals: Set[Any]) -> bool:
    """Return whether two calls ended with the same error, as the replay defines it.

    refusals: the words of errors that right code raises.
    """
    one, other, meant = _read_error(wanted), _read_error(came), _read_error(right)
    if one is None or other is None:
        return False
    kind, refusing = meant["raised"] if meant else None, wording(other) in refusals
    return errors_agree(one, other, kind, passed=passed, refusing=refusing)


def is_same_answer(one: Any, other: Any) -> bool:
    """Return whether two calls, as `describe_call` has them, did the same."""
    return _same(one, other, NEAR)


@dataclass(frozen=True)
class Book:
    """A step's known mistakes, and right code's answers: by check, in the order of the calls."""

    right: Mapping[str, Sequence[Any]]
    known: Sequence[KnownAnswers]

    def explaining(
        self, calls: Mapping[str, Sequence[Call]], function: str, own: Sequence[str]
    ) -> list[KnownAnswers]:
        """Return the mistakes that reproduce the results of the function's own checks.

        Mistakes that explain most of the other checks come first; among these, those in the
        function itself.
        """
        came = {name: list(map(_came, of)) for name, of in calls.items()}
        said = self._refusals(came)
        fits = [k for k in self.known if all(self._answers(k, n, came[n], said) for n in own)]

        def rank(known: KnownAnswers) -> tuple[int, bool]:
            more = sum(self._answers(known, name, came[name], said) for name in came)
            return -more, function not in known.places

        return sorted(fits, key=rank)

    def _answers(
        self, known: KnownAnswers, check: str, came: Sequence[Came], refusals: Set[Any]
    ) -> bool:
        """Return whether a check's calls came out as with the mistake."""
        right = self.right.get(check, ())
        place, wrong = known.wrong.get(check, (len(right), ()))
        answers = [*right[:place], *wrong]
        if len(came) != len(answers):
            return False
        for (call, answer, near), told, meant in zip_longest(came, answers, right[: len(came)]):
            passed = bool(call.more.get("passed"))
            alike = _same_error(told, answer, meant, passed, refusals)
            if not alike and not _same(told, answer, near):
                return False
        return True

    def _refusals(self, came: Mapping[str, Sequence[Came]]) -> set[Any]:
        """Return the words for errors that correct code also raises."""
        pairs = (
            (_read_error(answer), _read_error(right))
            for check, calls in came.items()
            for (_, answer, _), right in zip(calls, self.right.get(check, ()))
        )
        return {wording(a) for a, b in pairs if a and b and a["raised"] == b["raised"]}


@cache
def _read_book(name: str) -> Book:
    """Return the book of a step, which is empty where there is none."""
    path = ANSWERS / f"{name}.json.gz"
    if not path.is_file():
        return Book({}, ())
    data = json.loads(gzip.decompress(path.read_bytes()))
    return Book(data[RIGHT], [KnownAnswers(**one) for one in data["known"]])


def look_up(step: Step, failure: Failure) -> Diagnosis | None:
    """Return the mistake that reproduces the results of all of the function's checks."""
    function, log = failure.function, failure.log
    if not log.whole:
        return None
    if (written := writes_into(failure)) is not None:
        return written
    own = [one.id for one in step.function(function).checks if one.id in log.spans]
    calls = {name: log.of(name) for name in log.spans}
    found = _read_book(step.id).explaining(calls, function, own)
    return found[0].diagnosis_in(step) if found else None
