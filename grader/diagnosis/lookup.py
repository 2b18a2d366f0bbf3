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
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.tolerances import EXACT, FLOAT32
from grader.diagnosis.calls import Call, Failure, holds_single
from grader.diagnosis.library import name_place
from grader.diagnosis.replay import KINDS, breaks, errors_agree, is_mark, wording
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
    """Return a call's outcome as JSON data: the function, and what it did."""
    after, given = call.more.get("after"), [list(call.args), dict(call.kwargs)]
    touched = None if after is None else not _same(_plain(given), _plain(after), 0)
    return describe(call.function, call.outcome, call.more.get("products", 0), touched=touched)


def describe(function: str, outcome: Any, products: int, *, touched: bool | None) -> list[Any]:
    """Return an outcome as JSON data. touched: whether arguments were written into, if asked."""
    done: dict[str, Any] = {"products": products} if products else {}
    if touched is not None:
        done["touched"] = touched
    if isinstance(outcome, Raised):
        error = {"raised": outcome.type, "words": outcome.text[:MAX_WORDS]}
        return [function, error, done]
    return [function, _plain(outcome), done]


def number_question(call: Call) -> int:
    """Return a number that the same questions share, and hardly any others."""
    asked = [call.function, _plain(list(call.args)), _plain(dict(call.kwargs))]
    return zlib.crc32(json.dumps(asked).encode())


def _plain(value: Any) -> Any:
    """Return a value as JSON data, without the parts that only student code looks into."""
    match value:
        case Handle() | Foreign():
            return OPAQUE
        case dict() if is_mark(value):
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
    return errors_agree(one, other, kind, passed, refusing, refuses=not breaks(one))


def is_same_answer(one: Any, other: Any) -> bool:
    """Return whether two calls, as `describe_call` has them, did the same."""
    return _same(one, other, NEAR)


@dataclass(frozen=True)
class Book:
    """A step's known mistakes, and right code's answers: by check, in the order of the calls.

    asked: the numbers of the questions.
    """

    right: Mapping[str, Sequence[Any]]
    asked: Mapping[str, Sequence[int]]
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
        if len(came) > len(right) or (wrong and len(came) <= place):
            return False
        together = zip(came, [*right[:place], *wrong], right)
        for number, ((call, answer, near), told, meant) in enumerate(together):
            if number > place and self.asked[check][number] != number_question(call):
                return True  # after a wrong answer, a check may ask something else
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


class Answers:
    """The books of all steps, which replace the replay in a kit without solutions."""

    def __init__(self, folder: Path = ANSWERS) -> None:
        self.folder = folder
        self._books: dict[str, Book] = {}

    def _book(self, step: Step) -> Book:
        if step.id not in self._books:
            path = self.folder / f"{step.id}.json.gz"
            empty: dict[str, Any] = {RIGHT: {}, "asked": {}, "known": []}
            data = json.loads(gzip.decompress(path.read_bytes())) if path.is_file() else empty
            known = [KnownAnswers(**one) for one in data["known"]]
            self._books[step.id] = Book(data[RIGHT], data["asked"], known)
        return self._books[step.id]

    def diagnosis(self, step: Step, failure: Failure) -> Diagnosis | None:
        """Return the mistake that reproduces the results of all of the function's checks."""
        function, log = failure.function, failure.log
        if not log.whole:
            return None
        if (found := writes_into(failure)) is not None:
            return found
        book = self._book(step)
        own = [one.id for one in step.function(function).checks if one.id in log.spans]
        calls = {name: log.of(name) for name in log.spans}
        for known in book.explaining(calls, function, own):
            return known.diagnosis_in(step)
        return None
