"""Choose the questions of finished steps that are due again: a little later each time.

What was asked again after days is kept longer than what was asked often at once. The notes are in
the learner's journal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from grader.learner.journal import Journal
from grader.steps.quiz import Question, questions
from grader.steps.registry import Registry

DAY = 86_400.0
DAYS = (1, 3, 7, 21)  # from a right answer to the next question; a wrong one begins anew
MOST = 5  # questions at a time: two minutes


class Reviews:
    """The questions of the steps that pass, and when each is due."""

    def __init__(self, journal: Journal, registry: Registry) -> None:
        self.journal = journal
        self.registry = registry

    def list_due(self, now: float) -> list[Question]:
        """Return the questions that are due, from one step after the other in turn."""
        data = self.journal.read()
        columns = [[*self._due_of_step(data, step, now)] for step in self.registry.steps]
        turns = itertools.zip_longest(*columns)
        return [question for turn in turns for question in turn if question is not None]

    def _due_of_step(self, data: dict[str, Any], step: Any, now: float) -> Iterator[Question]:
        since = self.journal.passed_since(step.id)
        if since is None:
            return
        for question in questions(step):
            level, asked = data.get("reviews", {}).get(question.id, (0, since))
            waits = DAYS[level] * DAY if level < len(DAYS) else None
            # A time in the future comes from a clock that was set back since.
            if question.kind != "open" and waits is not None and not 0 <= now - asked < waits:
                yield question

    def note(self, question: str, now: float, *, right: bool) -> None:
        """Note an answer to a question that is due; a wrong one brings it back soon."""
        if question not in {one.id for one in self.list_due(now)}:
            return
        data = self.journal.read()
        notes = data.setdefault("reviews", {})
        level, _ = notes.get(question, (0, now))
        notes[question] = [level + 1 if right else 0, now]
        self.journal.write(data)

    def remind(self, now: float, command: str) -> str:
        """Return the sentence that questions are due, but "" if it came within a day."""
        data = self.journal.read()
        if 0 <= now - data.get("reminded", -math.inf) < DAY:
            return ""
        count = min(len(self.list_due(now)), MOST)
        if not count:
            return ""
        data["reminded"] = now
        self.journal.write(data)
        questions_are = "1 question is" if count == 1 else f"{count} questions are"
        return f"Two minutes: {questions_are} due, `{command}` asks."
