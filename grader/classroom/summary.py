"""Summarise a class for its instructor, one student at a time.

Of each student only a small row is kept, not the report, so a class of any size fits in memory.
"""

import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.classroom.exports.explanation import points_of_steps
from grader.report.records import Graded, Status

BINS = 10
NOT_TRIED = (Status.NOT_ATTEMPTED, Status.SKIPPED)


@dataclass(frozen=True)
class Row:
    """One student, without the report. marks: the statuses of the steps.

    mistakes: the names of the known mistakes that were found.
    """

    graded: Graded
    marks: Mapping[str, Status]
    mistakes: Sequence[str]

    @property
    def reason(self) -> str:
        """Return why there is no score; "" for a student who has one, or is excused."""
        told = "" if self._is_done else " ".join(self.graded.notes)
        return self.graded.reason or told

    @property
    def state(self) -> str:
        """Return the state of a student in a few words."""
        graded, grade = self.graded, self.graded.grade
        by_hand = grade is not None and not grade.excused and grade.by_hand
        words = [
            "excused" if graded.excused else "",
            "nothing handed in" if graded.who.absent else "",
            grade.late if grade else "late" if graded.who.late else "",
            "changed by hand" if by_hand else "",
        ]
        return ", ".join(filter(None, words))

    @property
    def is_graded(self) -> bool:
        """Return whether the student handed in work, and has a score or is excused."""
        return self._is_done and not self.graded.who.absent

    @property
    def _is_done(self) -> bool:
        return self.graded.score is not None or self.graded.excused


@dataclass
class Count:
    """How the class did in a step, or in one of its checks.

    points: those of everybody who has some, with changes by hand. Students who wrote nothing are
    counted apart.
    """

    step: str
    title: str
    max_points: float
    check: str = ""
    function: str = ""
    points: list[float] = field(default_factory=list)
    passed: int = 0
    failed: int = 0
    not_tried: int = 0

    def add(self, status: Status) -> None:
        """Count a student."""
        self.passed += status is Status.PASSED
        self.not_tried += status in NOT_TRIED
        self.failed += status not in (Status.PASSED, *NOT_TRIED)

    @property
    def share(self) -> float:
        """Return the share of the students who tried it and failed."""
        return self.failed / (self.failed + self.passed) if self.failed else 0.0

    @property
    def mean(self) -> float:
        """Return the mean of the points."""
        return statistics.fmean(self.points) if self.points else 0.0


class Mistake(NamedTuple):
    """A known mistake: the step's title, the mistake's name, and what it is."""

    step: str
    name: str
    says: str


def _mistakes(graded: Graded) -> list[Mistake]:
    """Return the known mistakes in a student's work, each once."""
    found = (
        Mistake(step.title, sys.intern(check.diagnosis.misconception), check.diagnosis.says)
        for step in graded.steps
        for check in step.checks
        if check.diagnosis is not None and check.diagnosis.known
    )
    return [*dict.fromkeys(found)]


class Summary:
    """The class so far; `add` takes one student after another, in any order.

    ran: how many were judged in each way.
    """

    def __init__(self, class_: Iterable[Graded] = ()) -> None:
        self.rows: list[Row] = []
        self.steps: dict[str, Count] = {}
        self.checks: dict[tuple[str, str], Count] = {}
        self._mistakes: defaultdict[Mistake, list[Row]] = defaultdict(list)
        self.ran: Counter[str] = Counter()
        for graded in class_:
            self.add(graded)

    def add(self, graded: Graded) -> None:
        """Add one student."""
        mistakes, points = _mistakes(graded), points_of_steps(graded)
        marks = {sys.intern(step.step): step.status for step in graded.steps}
        row = Row(graded.without_report(), marks, [*dict.fromkeys(one.name for one in mistakes)])
        self.rows.append(row)
        for one in mistakes:
            self._mistakes[one].append(row)
        if graded.report:
            self.ran[f"{graded.report.suite} checks, isolation {graded.report.isolation}"] += 1
        for step in graded.steps:
            fresh = Count(step.title, step.title, step.max_points)
            count = self.steps.setdefault(step.step, fresh)
            count.points += [points[step.step]] if step.step in points else []
            if step.gradable:
                count.add(step.status)
            for check in step.checks:
                new = Count(step.title, check.title, check.max_points, check.check, check.function)
                self.checks.setdefault((step.title, check.check), new).add(check.status)

    @property
    def hardest(self) -> list[Count]:
        """Return the failed checks, by the share of failures among the students who tried them."""
        failed = (check for check in self.checks.values() if check.failed)
        return sorted(failed, key=lambda check: (-check.share, -check.failed))

    @property
    def mistakes(self) -> list[tuple[Mistake, list[Row]]]:
        """Return the known mistakes and who made them, the most common first."""
        return sorted(self._mistakes.items(), key=lambda one: -len(one[1]))

    @property
    def absent(self) -> list[Row]:
        """Return the students who handed in nothing, or withdrew their work."""
        return [row for row in self.rows if row.graded.who.absent]

    @property
    def not_graded(self) -> list[Row]:
        """Return the students whose work should have a score but does not."""
        return [row for row in self.rows if not (row.is_graded or row.graded.who.absent)]

    @property
    def graded(self) -> int:
        """Return how many students have a score or are excused, among those who handed in work."""
        return sum(row.is_graded for row in self.rows)

    @property
    def spread(self) -> dict[str, Any]:
        """Return the scores of the class in numbers; nothing without a single one.

        bins: how many scores are in each tenth of the range.
        """
        class_ = (row.graded for row in self.rows)
        pairs = [(one.score, one.max_score or 1.0) for one in class_ if one.score is not None]
        if not pairs:
            return {}
        scores = [score for score, _ in pairs]
        bins = [0] * BINS
        for score, most in pairs:
            bins[max(0, min(BINS - 1, int(score / most * BINS + 1e-9)))] += 1
        return {
            "mean": statistics.fmean(scores),
            "median": statistics.median(scores),
            "lowest": min(scores),
            "highest": max(scores),
            "full": sum(score >= most for score, most in pairs),
            "nothing": sum(score <= 0 for score in scores),
            "max_score": max(most for _, most in pairs),
            "bins": bins,
        }
