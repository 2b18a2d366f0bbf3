"""Hold the judge's findings as frozen records, which contain everything that a report shows."""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

SCHEMA = "nopeek/report/1"
PROPERTY = "property:"
Record = TypeVar("Record")


class Status(str, Enum):
    """Say how a check or a step ended. A step only ever has one of the first four."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ATTEMPTED = "not_attempted"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    SKIPPED = "skipped"


# How each is shown: a sign on a page, words, a sign in a terminal, and its style there.
SIGNS = {
    Status.PASSED: ("✓", "passed", "+", "green"),
    Status.FAILED: ("✗", "needs work", "x", "red"),
    Status.NOT_ATTEMPTED: ("–", "not attempted", "-", "dim"),
    Status.ERROR: ("!", "error", "!", "red"),
    Status.TIMEOUT: ("!", "too slow", "!", "red"),
    Status.MEMORY: ("!", "too much memory", "!", "red"),
    Status.SKIPPED: ("–", "not counted", "-", "dim"),
}


@dataclass(frozen=True)
class Array:
    """Hold one array of a failing case, small enough to be read.

    cells is the nested list of numbers. wrong lists the wrong places, in C order.
    """

    name: str
    shape: tuple[int, ...]
    cells: Any
    wrong: tuple[int, ...] = ()


@dataclass(frozen=True)
class Influence:
    """Hold which output positions moved, and by how much, when one input position changed.

    moved[i][j] is the largest change of output i when only input j changed. It is None if a number
    that is not finite leaves that open. allowed[i][j] says whether output i may depend on input j.
    Without it, an output may depend on inputs up to its own position, and the last output is beside
    the last input. `all_matter` is set if all allowed inputs should matter. output and input: the
    names of a row and a column. how: a sentence on what was tried.
    """

    moved: tuple[tuple[float | None, ...], ...]
    all_matter: bool = False
    allowed: tuple[tuple[bool, ...], ...] = ()
    output: str = "output"
    input: str = "input"
    how: str = ""


@dataclass(frozen=True)
class Evidence:
    """Hold the smallest failing case: the inputs, the expected result, and the actual result."""

    call: str
    inputs: tuple[Array, ...] = ()
    expected: tuple[Array, ...] = ()
    got: tuple[Array, ...] = ()
    influence: Influence | None = None


@dataclass(frozen=True)
class Code:
    """Hold the student's own lines of a function: their place, and each line with its number.

    marked: the number of the line to blame, or 0 if it is not known.
    """

    where: str
    lines: tuple[tuple[int, str], ...]
    marked: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """Name the known mistake that produces exactly these numbers, or else a pattern in them.

    misconception: the mistake's name or, for a pattern, `property:` and its name.
    """

    misconception: str
    hint: str
    says: str = ""

    @property
    def known(self) -> bool:
        """Return whether the diagnosis is a known mistake, not only a pattern in the results."""
        return not self.misconception.startswith(PROPERTY)


@dataclass(frozen=True)
class CheckVerdict:
    """Hold the result of one check of one function of a submission."""

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
    """Of the wrong answers, to the last bit: the same for all who gave the same in this round."""
    code: Code | None = None
    """The function as it was written, at its first failure in the visible suite."""

    @property
    def failing(self) -> bool:
        """Return whether there is a failure to show."""
        return self.status not in (Status.PASSED, Status.SKIPPED, Status.NOT_ATTEMPTED)


def number_in(name: str) -> int:
    """Return 3 for `step03_mask`, and 0 for a name of another form."""
    match = re.match(r"step(\d+)", name)
    return int(match[1]) if match else 0


@dataclass(frozen=True)
class StepVerdict:
    """Hold all checks of one step.

    on_own_steps: whether code that passed on right earlier steps also passes on the submission's
    own; None if this was not tried. message says why it does not, or why the step could not be
    judged at all.
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
    outside: tuple[str, ...] = ()
    """What was seen meanwhile that is refused where a class is graded, and where."""

    @property
    def number(self) -> int:
        """Return 3 for a verdict on `step03_mask`."""
        return number_in(self.step)


def say_outside(steps: Iterable[StepVerdict]) -> str:
    """Return what was seen that is refused where a class is graded, as a line, or ""."""
    seen = dict.fromkeys(one for step in steps for one in step.outside)
    return f"refused where a class is graded: {'; '.join(seen)}" if seen else ""


def _numbers(cells: Any) -> Any:
    """Return nested lists with numbers in place of "inf", "-inf" and "nan"."""
    if isinstance(cells, list):
        return [_numbers(cell) for cell in cells]
    return float(cells) if isinstance(cells, str) else cells


def _array(data: dict[str, Any]) -> Array:
    cells = _numbers(data["cells"])
    return Array(data["name"], tuple(data["shape"]), cells, tuple(data["wrong"]))


@cache
def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes a value of a type from JSON data; None if the data is the value."""
    if kind is Array:
        return _array
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return partial(from_plain, kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    read = _reader(get_args(kind)[0]) if get_args(kind) else None  # of what a tuple or `| None` has
    if get_origin(kind) is tuple:
        return (lambda data: tuple(map(read, data))) if read else tuple
    return (lambda data: data if data is None else read(data)) if read else None


@cache
def _readers(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Return the readers of the fields that are not what JSON has."""
    found = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
    return {name: reader for name, reader in found.items() if reader}


def from_plain(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """Return the record from its JSON data; a field that is missing there has its default."""
    readers = _readers(kind).items()  # type: ignore[arg-type]  # a type is hashable
    return kind(**{**data, **{name: read(data[name]) for name, read in readers if name in data}})


def _plain(data: Any) -> Any:
    """Return records, tuples and dicts as JSON data, with strings for numbers that JSON lacks."""
    if data is None or isinstance(data, (str, int)):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    fields = vars(data) if dataclasses.is_dataclass(data) else data
    return {name: _plain(value) for name, value in fields.items()}


@dataclass(frozen=True)
class Report:
    """Hold a submission's verdicts, and everything that is needed to repeat them."""

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
        """Return the points earned."""
        return sum(step.points for step in self.steps)

    @property
    def max_score(self) -> float:
        """Return the points that can be earned."""
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

        JSON has no infinity and no NaN. In evidence, the strings "inf", "-inf" and "nan" stand for
        them.
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
        """Return the report as ASCII JSON, in which lone surrogates can be written as well."""
        # With indent, json uses an encoder that takes many times as long.
        return json.dumps(self.to_dict(), allow_nan=False)


def find_first_undone(steps: Iterable[StepVerdict]) -> StepVerdict | None:
    """Return the first step, in order, that did not pass; None if all did."""
    return next((step for step in steps if step.status is not Status.PASSED), None)


def report_from_json(text: str | bytes) -> Report:
    """Return the report from the text that `Report.to_json` returned."""
    data = json.loads(text)
    submission = data["submission"]
    return Report(
        submission["id"],
        submission["sha256"],
        data["suite"],
        data["seed"],
        data["isolation"],
        tuple(from_plain(StepVerdict, step) for step in data["steps"]),
        data["held"],
    )


@dataclass(frozen=True)
class Who:
    """Hold data on a student from a download or the class list, besides the id.

    platform: such as `Moodle`. number: the student's number there. login: the name under which the
    student logs in, which the university gives. files: the names of the work in the download, under
    which feedback is returned. submitted: ISO 8601, if known. absent: why a student has no work.
    members: how the platform calls those who handed it in together.
    """

    platform: str = ""
    number: str = ""
    name: str = ""
    email: str = ""
    files: tuple[str, ...] = ()
    late: bool = False
    submitted: str = ""
    absent: str = ""
    login: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graded:
    """Hold the outcome of one student's submission: a report, or the reason why there is none.

    student: the id as it was handed in, which can be any text. warnings: what was ignored.
    attempts: how many there were; the latest counts. seconds: how long grading took. grade: the
    grade of the report under the assignment's rules and the changes by hand. sha256: of the work.
    key: of the result in the gradebook. round: that of the hidden inputs.
    """

    student: str
    report: Report | None
    reason: str = ""
    warnings: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    who: Who = field(default_factory=Who)
    grade: "Grade | None" = None
    sha256: str | None = None
    key: str | None = None
    round: int | None = None

    @property
    def steps(self) -> tuple[StepVerdict, ...]:
        """Return the verdicts on all steps; none without a report."""
        return self.report.steps if self.report else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes on the grade; none if the report has no more to add."""
        return self.grade.notes if self.grade else ()

    @property
    def score(self) -> float | None:
        """Return the points that count, or None if there are none; None is not the same as 0."""
        found = self.grade or self.report
        return found.score if found else None

    @property
    def max_score(self) -> float | None:
        """Return the points that can be earned."""
        found = self.grade or self.report
        return found.max_score if found else None

    @property
    def excused(self) -> bool:
        """Return whether the student is excused."""
        return self.grade is not None and self.grade.excused

    def without_report(self) -> "Graded":
        """Return the same student with the same points, but without the report."""
        grade, score = self.grade, self.score
        if grade is None and score is not None:
            grade = Grade(score, self.max_score or 0.0, late="late" * self.who.late)
        return dataclasses.replace(self, report=None, grade=grade)


@dataclass(frozen=True)
class Grade:
    """Hold the grade of a student's work. score: None if there is no score.

    raw: the score before any late penalty. steps: the points of each step by its id, after changes
    by hand. notes: each change to the score. by_hand: those of them that a person has made.
    """

    score: float | None
    max_score: float
    steps: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    excused: bool = False
    late: str = ""
    raw: float | None = None
    by_hand: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alike:
    """Name students whose work on a step a person should compare; this is never a verdict."""

    students: tuple[str, ...]
    step: str
    why: str
    share: float = 1.0


@dataclass(frozen=True)
class Change:
    """Name a student whose result has changed, with the reason."""

    student: str
    before: Graded
    after: Graded
    because: str
