"""Export nbgrader's grades as a table in which a student's id stays one cell.

In an exchange on a shared machine, students make their folders themselves, under any name. nbgrader
writes ids as they are. So an id with commas would be a row with a score of the student's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from grader.classroom.exports.grades import COLUMNS
from grader.classroom.exports.spreadsheet import protect_cell, row


class Export(ExportPlugin):  # type: ignore[misc]  # nbgrader has no types
    """Replaces nbgrader's own exporter; its columns are the same."""

    def export(self, gradebook: Gradebook) -> None:
        """Write the grades to the file that `--to` names, `grades.csv` by default."""
        path = Path(self.to or "grades.csv")
        self.log.info("Exporting grades to %s", path)
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(row(COLUMNS))
            file.writelines(row(map(_cell, cells)) for cells in self._rows(gradebook))

    def _rows(self, gradebook: Gradebook) -> Iterator[list[Any]]:
        """Yield the cells of each student for each assignment, as far as these were asked for."""
        only, whose = set(self.assignment), {str(student) for student in self.student}
        for assignment in gradebook.assignments:
            for student in gradebook.students:
                if (only and assignment.name not in only) or (whose and student.id not in whose):
                    continue
                when, raw, penalty = _result(gradebook, assignment.name, student.id)
                yield [
                    *(assignment.name, assignment.duedate, when),
                    *(student.id, student.last_name, student.first_name, student.email),
                    *(raw, penalty, max(0.0, raw - penalty), assignment.max_score),
                ]


def _result(gradebook: Gradebook, assignment: str, student: str) -> tuple[Any, float, float]:
    """Return the time, score and deduction of a submission; zeros where there is none."""
    try:
        found = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return None, 0.0, 0.0
    return found.timestamp, found.score, found.late_submission_penalty or 0.0


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, (int, float)) else protect_cell(str(value or ""))
