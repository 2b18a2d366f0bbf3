"""Keep nbgrader's database open during a run, and take back scores.

While it autogrades, nbgrader opens its gradebook seven times for each student. Each time it checks
that all tables exist, and builds its queries anew. That takes longer than judging.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SAWarning

USERS = (
    "nbgrader.converters.autograde",
    "nbgrader.preprocessors.saveautogrades",
    "nbgrader.preprocessors.latesubmissions",
)


def forget_scores(gradebook: Gradebook, assignment: str, student: str) -> None:
    """Take back what an earlier attempt has earned, because the latest one cannot be graded.

    Scores by hand stay, and ask for a look.
    """
    with contextlib.suppress(MissingEntry):
        for notebook in gradebook.find_submission(assignment, student).notebooks:
            notebook.late_submission_penalty = None
            for grade in notebook.grades:
                grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()


class _OpenBook(Gradebook):  # type: ignore[misc]  # nbgrader has no types
    """A gradebook that closes only its session, as always; the database stays open."""

    def close(self) -> None:
        self.db.remove()


@contextlib.contextmanager
def open_once() -> Iterator[None]:
    """Share one gradebook among autograde's modules, for each database and course."""
    with contextlib.ExitStack() as ended, warnings.catch_warnings():
        # Of the order of entries: nbgrader adds them all in the end.
        warnings.filterwarnings("ignore", "Object of type .* not in session", SAWarning)

        @functools.cache
        def gradebook(*which: Any) -> _OpenBook:
            book = _OpenBook(*which)
            ended.callback(book.engine.dispose)
            return book

        for name in USERS:
            module: Any = importlib.import_module(name)
            module.Gradebook = gradebook
            ended.callback(setattr, module, "Gradebook", Gradebook)
        yield
