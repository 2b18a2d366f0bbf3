"""Define the options of an export, and the result of a merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.people import Owners


class ExportError(Exception):
    """The export cannot be written; one sentence says what to do."""


@dataclass(frozen=True)
class Options:
    """Options that some formats need.

    steps: the ids of all steps, in order. column, feedback_column: headers of the instructor's own
    file. environment: variables that a platform sets. graded_at: ISO 8601. overwrite: replace
    grades and excuses that are already in the instructor's file. exported: what earlier exports
    wrote there, by row. answer: whose each work is; without it everybody is who the work says.
    """

    steps: tuple[str, ...] = ()
    assignment: str = "nopeek"
    due: str = ""
    column: str = ""
    feedback_column: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    graded_at: str = ""
    overwrite: bool = False
    exported: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answer: Owners | None = None


@dataclass(frozen=True)
class Merged:
    """The instructor's file with the scores in it, and everyone who is not in it, by reason.

    unmatched: students without a row of their own, each with the reason. kept: students with
    another grade there, which was not changed. earlier: students without a score who have a grade
    there, which was not changed either. cells: the present cells of the column, by row, if nopeek
    wrote it.
    """

    text: str = ""
    written: int = 0
    unmatched: Mapping[str, str] = field(default_factory=dict)
    not_graded: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    earlier: Sequence[str] = ()
    cells: dict[str, str] = field(default_factory=dict)
