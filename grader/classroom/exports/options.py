"""Define the options of an export, and the result of a merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.people import Owners
from grader.report.problem import Problem


class ExportError(Problem):
    """The export cannot be written; one sentence says what to do."""


@dataclass(frozen=True)
class Options:
    """Options that some formats need.

    steps: the ids of the graded steps, in order. column, feedback_column: headers of the
    instructor's own file. environment: variables that a platform sets. graded_at: ISO 8601.
    overwrite: replace the grades and comments that are in the instructor's file. answer: whose each
    work is; without it everybody is who the work says.
    """

    steps: tuple[str, ...] = ()
    assignment: str = "nopeek"
    due: str = ""
    column: str = ""
    feedback_column: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    graded_at: str = ""
    overwrite: bool = False
    answer: Owners | None = None


@dataclass(frozen=True)
class Merged:
    """The instructor's file with the scores in it, and everyone whose score is not.

    placed: how many have a row. unmatched: students without a row of their own, each with the
    reason. kept: the grades and comments there that were not replaced, each with its student.
    """

    text: str = ""
    written: int = 0
    placed: int = 0
    unmatched: Mapping[str, str] = field(default_factory=dict)
    not_graded: Sequence[str] = ()
    notes: Sequence[str] = ()
    kept: Sequence[str] = ()
