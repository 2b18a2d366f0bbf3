"""Define the options of an export."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.classroom.people import Owners


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
