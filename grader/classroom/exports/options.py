"""What an export may have to be told beside the records, and what a merge gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class ExportError(Exception):
    """What was asked for cannot be written; the text is one sentence that says what to do."""


@dataclass(frozen=True)
class Options:
    """What some formats need to know.

    steps: the ids of all steps, in order. column, feedback_column: headers of the instructor's own
    file. environment: variables that a platform sets. graded_at: ISO 8601.
    """

    steps: tuple[str, ...] = ()
    assignment: str = "nopeek"
    column: str = ""
    feedback_column: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    graded_at: str = ""


@dataclass(frozen=True)
class Merged:
    """The instructor's file with the scores in it, and everyone who is not in it, by reason."""

    text: str
    written: int
    unmatched: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    not_graded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
