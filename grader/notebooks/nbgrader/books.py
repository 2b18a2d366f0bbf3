"""Open nbgrader's database once in a run.

While it autogrades, nbgrader opens its gradebook seven times for each student. Each time it checks
that all tables exist, and builds its queries anew. That takes longer than judging.
"""

from __future__ import annotations

import contextlib
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


class _OpenBook(Gradebook):  # type: ignore[misc]  # nbgrader has no types
    """A gradebook that closes only its session, as always; the database stays open."""

    def close(self) -> None:
        self.db.remove()

    def end(self) -> None:
        """Close the database too."""
        super().close()


@contextlib.contextmanager
def _hush() -> Iterator[None]:
    """Silence the warning on the order of entries, because nbgrader adds them all in the end."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object of type .* not in session", SAWarning)
        yield


def forget_scores(url: str, course: str, assignment: str, student: str) -> None:
    """Take back what an earlier attempt has earned, because the latest one cannot be graded.

    Scores by hand stay, and ask for a look.
    """
    with contextlib.suppress(MissingEntry), Gradebook(url, course) as gradebook:
        for notebook in gradebook.find_submission(assignment, student).notebooks:
            notebook.late_submission_penalty = None
            for grade in notebook.grades:
                grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()


@contextlib.contextmanager
def open_once() -> Iterator[None]:
    """Share one gradebook among autograde's modules, for each database and course."""
    kept: dict[tuple[Any, ...], _OpenBook] = {}

    def gradebook(*which: Any) -> _OpenBook:
        if which not in kept:
            kept[which] = _OpenBook(*which)
        return kept[which]

    modules = [importlib.import_module(name) for name in USERS]
    users = [module for module in modules if getattr(module, "Gradebook", None) is Gradebook]
    for module in users:
        module.Gradebook = gradebook  # type: ignore[attr-defined]
    try:
        with _hush():
            yield
    finally:
        for module in users:
            module.Gradebook = Gradebook  # type: ignore[attr-defined]
        for one in kept.values():
            one.end()
