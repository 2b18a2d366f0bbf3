"""Summarise a class for its instructor, and write the page of it.

Students are added one at a time. Of each only a small row is kept, not the report, so a class of
any size fits in memory. The page is one HTML file that needs no network and no script.
"""

import base64
import hashlib
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from grader.classroom.exports.grades import points_of_steps
from grader.report.html.page import template
from grader.report.records import SIGNS, Alike, Graded, Status
from grader.report.sanitize import one_line, safe_name

NAMED = 10  # students shown for a mistake
LISTED = 200  # and when unfolded; the table of all students lists everyone
MAX_NAME = 80
FOLDED = 300  # a longer table of students is folded up at first
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
        return self.graded.reason or ("" if self.is_graded else " ".join(self.graded.notes))

    @property
    def state(self) -> str:
        """Return the state of a student in a few words."""
        graded, grade = self.graded, self.graded.grade
        words = [
            "excused" if graded.excused else "",
            "nothing handed in" if graded.who.absent else "",
            grade.late if grade else "late" if graded.who.late else "",
            "changed by hand" if grade and grade.by_hand and not graded.excused else "",
        ]
        return ", ".join(filter(None, words))

    @property
    def is_graded(self) -> bool:
        """Return whether the student has a score or is excused."""
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


class Summary:
    """The class so far; `add` takes one student after another, in any order.

    ran: how many were judged in each way. absent: who handed in nothing. not_graded: whose work
    should have a score but has none. graded: how many others there are.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.steps: dict[str, Count] = {}
        self.checks: dict[tuple[str, str], Count] = {}
        self._mistakes: defaultdict[Mistake, list[Row]] = defaultdict(list)
        self.ran: Counter[str] = Counter()
        self.absent: list[Row] = []
        self.not_graded: list[Row] = []
        self.graded = 0

    def add(self, graded: Graded) -> None:
        """Add one student."""
        points = points_of_steps(graded)
        marks = {sys.intern(step.step): step.status for step in graded.steps}
        mistakes = dict.fromkeys(
            Mistake(step.title, sys.intern(check.diagnosis.misconception), check.diagnosis.says)
            for step in graded.steps
            for check in step.checks
            if check.diagnosis is not None and check.diagnosis.known
        )
        row = Row(graded.without_report(), marks, [*dict.fromkeys(one.name for one in mistakes)])
        self.rows.append(row)
        if graded.who.absent:
            self.absent.append(row)
        elif row.is_graded:
            self.graded += 1
        else:
            self.not_graded.append(row)
        for one in mistakes:
            self._mistakes[one].append(row)
        if graded.report:
            self.ran[f"{graded.report.suite} checks, isolation {graded.report.isolation}"] += 1
        for step in graded.steps:
            count = self.steps.setdefault(step.step, Count(step.title, step.title, step.max_points))
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


def file(student: str) -> str:
    """Return the name of a student's pages, for a link."""
    return quote(f"{safe_name(student)}.html", safe="")


def short(name: str) -> str:
    """Return a shortened name; the student's page has the whole name."""
    return one_line(name, MAX_NAME) or "(no name)"


def _script() -> Markup:
    return Markup(Path(__file__).with_name("overview.js").read_text(encoding="utf-8"))


def fingerprint() -> str:
    """Return the hash of the page's script, by which a policy allows it and no other."""
    return base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()


def marks(row: Row, steps: Iterable[str]) -> str:
    """Return a sign for each step: ✓ passed, ✗ needs work, – not attempted."""
    return "".join(SIGNS[row.marks[step]][0] if step in row.marks else " " for step in steps)


def class_page(summary: Summary, alike: Iterable[Alike], about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page in pieces. alike: similar work for a person to compare, without effect.

    about: the assignment's title, deadline (due) and steps; the suite, and when it was graded;
    strays: files of nobody; unmatched: work of nobody on the class list. Both have the reasons.
    """
    # Each pair once, the most alike first. The place names the page that `serve` has of it.
    pairs: defaultdict[tuple[str, ...], list[tuple[int, Alike]]] = defaultdict(list)
    for place, one in enumerate(alike):
        pairs[tuple(sorted(one.students))].append((place, one))
    data: dict[str, Any] = {
        "summary": summary,
        "spread": summary.spread,
        "alike": sorted(pairs.items(), key=lambda item: (-len(item[1]), -item[1][0][1].share)),
        "about": about,
        "script": _script(),
        "fingerprint": fingerprint(),
        "sizes": {"NAMED": NAMED, "LISTED": LISTED, "FOLDED": FOLDED},
        **{use.__name__: use for use in (file, short, marks)},
    }
    return template("overview.html", Path(__file__).parent).generate(data)
