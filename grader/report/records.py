"""The judge's findings as frozen records, which hold everything that a report shows."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

SCHEMA = "nopeek/report/1"
PROPERTY = "property:"


class Status(str, Enum):
    """How a check, or a step, ended. A step is only ever one of the first four."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ATTEMPTED = "not_attempted"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Array:
    """One array of a failing case, small enough to be read.

    cells is the nested list of numbers; wrong are the places, in C order, that are not right.
    """

    name: str
    shape: tuple[int, ...]
    cells: Any
    wrong: tuple[int, ...] = ()


@dataclass(frozen=True)
class Influence:
    """Which output position moved, and by how much, when a single input position was changed.

    moved[i][j] is the largest change of output i when only input j changed; None where a number
    that is not finite leaves that open. allowed[i][j] says whether output i may depend on input j;
    without it, on those up to its own, the last output being beside the last input. Where every
    one of those should matter, `all_matter` is set. output and input: what a row and a column are
    called; how: a sentence on what was tried.
    """

    moved: tuple[tuple[float | None, ...], ...]
    all_matter: bool = False
    allowed: tuple[tuple[bool, ...], ...] = ()
    output: str = "output"
    input: str = "input"
    how: str = ""


@dataclass(frozen=True)
class Evidence:
    """The smallest failing case: what went in, what should have come out, what came out."""

    call: str
    inputs: tuple[Array, ...] = ()
    expected: tuple[Array, ...] = ()
    got: tuple[Array, ...] = ()
    influence: Influence | None = None


@dataclass(frozen=True)
class Code:
    """The student's own lines of a function: its place, and each line with its number.

    marked: the number of the line to blame, where it is known, else 0.
    """

    where: str
    lines: tuple[tuple[int, str], ...]
    marked: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """The known mistake that produces exactly these numbers, or else a pattern in them.

    misconception: the mistake's name; where none fits, `property:` and what was seen.
    """

    misconception: str
    hint: str
    says: str = ""

    @property
    def known(self) -> bool:
        """Return whether it is a known mistake, not only a property of what came."""
        return not self.misconception.startswith(PROPERTY)


@dataclass(frozen=True)
class CheckVerdict:
    """The result of one check of one function of a submission."""

    check: str
    function: str
    title: str
    status: Status
    points: float
    max_points: float
    message: str = ""
    evidence: Evidence | None = None
    printed: str = ""
    diagnosis: Diagnosis | None = None
    fingerprint: str = ""
    """Of the wrong answers, to the last bit: the same for all who gave the same to this seed."""
    code: Code | None = None
    """The function as it was written, at its first failure in the visible suite."""


@dataclass(frozen=True)
class StepVerdict:
    """All checks of one step.

    on_own_steps: None where there was nothing to try; else whether what passed on top of right
    earlier steps also passes on top of the submission's own. message says why not, or why the
    step could not be judged at all.
    """

    step: str
    title: str
    status: Status
    points: float
    max_points: float
    checks: tuple[CheckVerdict, ...]
    on_own_steps: bool | None = None
    message: str = ""
    gradable: bool = True
    """Whether its file could be read: if not, it has no points, rather than 0."""
    blamed: tuple[str, ...] = ()
    """The student's earlier steps, each of which alone breaks it among right ones."""


def _array(data: dict[str, Any]) -> Array:
    return Array(data["name"], tuple(data["shape"]), data["cells"], tuple(data["wrong"]))


def _influence(data: dict[str, Any]) -> Influence:
    """Return the map; an old one without `allowed` holds only its numbers."""
    rows = {name: tuple(map(tuple, data.get(name, ()))) for name in ("moved", "allowed")}
    return Influence(**{**data, **rows})


def _evidence(data: dict[str, Any]) -> Evidence:
    inputs, expected, got = (tuple(map(_array, data[n])) for n in ("inputs", "expected", "got"))
    influence = _influence(data["influence"]) if data["influence"] else None
    return Evidence(data["call"], inputs, expected, got, influence)


def _code(data: dict[str, Any]) -> Code:
    lines = tuple((number, text) for number, text in data["lines"])
    return Code(data["where"], lines, data["marked"])


def _check(data: dict[str, Any]) -> CheckVerdict:
    evidence, diagnosis = data["evidence"], data["diagnosis"]
    return CheckVerdict(
        **{
            **data,
            "status": Status(data["status"]),
            "evidence": _evidence(evidence) if evidence else None,
            "diagnosis": Diagnosis(**diagnosis) if diagnosis else None,
            "code": _code(data["code"]) if data.get("code") else None,
        }
    )


def step_from_dict(data: dict[str, Any]) -> StepVerdict:
    """Return the verdict that `dataclasses.asdict` made this of."""
    checks = tuple(map(_check, data["checks"]))
    blamed = tuple(data.get("blamed", ()))
    status = Status(data["status"])
    return StepVerdict(**{**data, "status": status, "checks": checks, "blamed": blamed})


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of a record's fields, or None for any other type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


def _plain(data: Any) -> Any:
    """Return records, tuples and dicts as JSON data, with strings for numbers that JSON lacks."""
    if data is None or isinstance(data, (str, int)):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    names = _fields(type(data))  # type: ignore[arg-type]  # a type is hashable
    if names is None:
        return {key: _plain(value) for key, value in data.items()}
    return {name: _plain(getattr(data, name)) for name in names}


@dataclass(frozen=True)
class Report:
    """A submission's verdicts, and all that is needed to repeat them."""

    submission: str
    sha256: str
    suite: str
    seed: int
    isolation: str
    steps: tuple[StepVerdict, ...]
    held: Mapping[str, bool] = field(default_factory=dict)
    """What the isolation was probed for, and whether it held."""

    @property
    def score(self) -> float:
        """Return points earned."""
        return sum(step.points for step in self.steps)

    @property
    def max_score(self) -> float:
        """Return points to be had."""
        return sum(step.max_points for step in self.steps)

    @property
    def passed(self) -> bool:
        """Return whether every step passed."""
        return all(step.status is Status.PASSED for step in self.steps)

    @property
    def unsupported(self) -> tuple[StepVerdict, ...]:
        """Return the steps that passed, but do not work on the student's own earlier steps."""
        return tuple(
            step
            for step in self.steps
            if step.status is Status.PASSED and step.on_own_steps is False
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data, schema `nopeek/report/1`.

        JSON has no infinity and no NaN: such numbers, in evidence, are the strings "inf", "-inf"
        and "nan".
        """
        return {
            "schema": SCHEMA,
            "submission": {"id": self.submission, "sha256": self.sha256},
            "suite": self.suite,
            "seed": self.seed,
            "isolation": self.isolation,
            "held": dict(self.held),
            "score": self.score,
            "max_score": self.max_score,
            "steps": [_plain(step) for step in self.steps],
        }

    def to_json(self) -> str:
        """Return the report as ASCII JSON, which can say half characters too."""
        # With indent, json uses an encoder that takes many times as long.
        return json.dumps(self.to_dict(), allow_nan=False)


def report_from_json(text: str | bytes) -> Report:
    """Return the report that `Report.to_json` made this of."""
    return report_from_dict(json.loads(text))


def report_from_dict(data: dict[str, Any]) -> Report:
    """Return the report that `Report.to_dict` made this of."""
    submission = data["submission"]
    return Report(
        submission["id"],
        submission["sha256"],
        data["suite"],
        data["seed"],
        data["isolation"],
        tuple(map(step_from_dict, data["steps"])),
        data["held"],
    )


@dataclass(frozen=True)
class Who:
    """Data on a student from a download or the class list, beside the id.

    platform: `Canvas` or `Moodle`. number: what the student is called there. files: the names that
    the work had in the download, under which feedback goes back. submitted: ISO 8601, if known.
    absent: why there is no work, for a student without any.
    """

    platform: str = ""
    number: str = ""
    name: str = ""
    email: str = ""
    files: tuple[str, ...] = ()
    late: bool = False
    submitted: str = ""
    absent: str = ""


@dataclass(frozen=True)
class Graded:
    """The outcome of one student's submission: a report, or the reason why it is missing.

    student: the id as it was handed in, any text at all. warnings: what had to be passed over.
    attempts: how many there were; the latest counts. seconds: what grading it took. grade: what
    the report comes to under the assignment's rules and the changes by hand.
    """

    student: str
    report: Report | None
    reason: str = ""
    warnings: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    who: Who = field(default_factory=Who)
    grade: Grade | None = None

    @property
    def score(self) -> float | None:
        """Return the points that count, or None where there are none, which is not 0."""
        if self.grade is not None:
            return self.grade.score
        return self.report.score if self.report is not None else None

    @property
    def max_score(self) -> float | None:
        """Return what these points are out of."""
        if self.grade is not None:
            return self.grade.max_score
        return self.report.max_score if self.report is not None else None

    @property
    def excused(self) -> bool:
        """Return whether the student is excused."""
        return self.grade is not None and self.grade.excused


@dataclass(frozen=True)
class Grade:
    """The grade of a student's work. score: None if there is no score.

    raw: before anything was taken off for being late. steps: the points of each step by its id,
    after changes by hand. notes: what was done to the score, each with who did it and when.
    """

    score: float | None
    max_score: float
    steps: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    excused: bool = False
    late: str = ""
    raw: float | None = None


@dataclass(frozen=True)
class Alike:
    """Students whose work on a step a human should look at side by side; never a verdict."""

    students: tuple[str, ...]
    step: str
    why: str
    share: float = 1.0


@dataclass(frozen=True)
class Change:
    """A student whose result is another than before, and the reason."""

    student: str
    before: Graded
    after: Graded
    because: str
