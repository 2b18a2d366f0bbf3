"""Ask a learner questions, and note the answers in the files beside the exercises.

A terminal and a notebook ask alike: `input` shows a prompt in one, and a field in the other. The
questions of finished steps come again, a little later each time: what was asked again after days is
kept longer than what was asked often at once.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.learner.journal import Journal
from grader.steps import quiz
from grader.steps.quiz import AnswerError, Question, questions
from grader.steps.registry import Registry, Step

Say = Callable[[str, str], None]  # prints a paragraph in a style, such as "red"
ENDS = ("q", "quit", "never")
NOTHING = "Nothing is due. Questions of a step that passes come back after some days."
DAY = 86_400.0
DAYS = (1, 3, 7, 21)  # from a right answer to the next question; a wrong one begins anew
MOST = 5  # questions at a time: two minutes


class Asking:
    """The questions to a learner, whose exercises are in that folder. clock: that of a test."""

    def __init__(
        self, folder: Path, registry: Registry, clock: Callable[[], float] = time.time
    ) -> None:
        self.registry = registry
        self.clock = clock
        self.journal = Journal(folder)

    def list_due(self) -> list[Question]:
        """Return the questions that are due, from one step after the other in turn."""
        now, reviews = self.clock(), self.journal.read().get("reviews", {})
        found: list[tuple[int, Question]] = []
        for step in self.registry.steps:
            if (since := self.journal.passed_since(step.id)) is not None:
                closed = [one for one in questions(step) if one.kind != "open"]
                due = [one for one in closed if _is_due(now, *reviews.get(one.id, (0, since)))]
                found += enumerate(due)
        return [question for _, question in sorted(found, key=lambda turn: turn[0])]

    def note(self, question: str, *, right: bool) -> None:
        """Note an answer to a question that is due; a wrong one brings it back soon."""
        if question not in {one.id for one in self.list_due()}:
            return
        data, now = self.journal.read(), self.clock()
        notes = data.setdefault("reviews", {})
        level, _ = notes.get(question, (0, now))
        notes[question] = [level + 1 if right else 0, now]
        self.journal.write(data)

    def remind(self, command: str) -> str:
        """Return the sentence that questions are due, but "" if it came within a day."""
        data, now = self.journal.read(), self.clock()
        if 0 <= now - data.get("reminded", -math.inf) < DAY:
            return ""
        count = min(len(self.list_due()), MOST)
        if not count:
            return ""
        data["reminded"] = now
        self.journal.write(data)
        questions_are = "1 question is" if count == 1 else f"{count} questions are"
        return f"Two minutes: {questions_are} due, `{command}` asks."

    def list_after(self, step: Step) -> list[Question]:
        """Return what to ask once a step passes: a prediction, and a sentence of one's own.

        Leave out what was answered, and both if the learner does not want them.
        """
        if not self.journal.asks:
            return []
        done, asked = self.journal.answered(), questions(step)
        closed = [one for one in asked if one.predict and one.id not in done]
        said = self.journal.on_step(step.id)["sentence"]
        return [*closed, *[one for one in asked if one.explains and not said][:1]]

    def list_now(self) -> list[Question]:
        """Return what to ask now: about steps that passed within a day, then what is due."""
        now = self.clock()
        passed = [(self.journal.passed_since(step.id), step) for step in self.registry.steps]
        fresh = [step for since, step in passed if since is not None and 0 <= now - since < DAY]
        return [
            *(question for step in fresh for question in self.list_after(step)),
            *self.list_due(),
        ]

    def mark(self, question: Question, answer: object) -> tuple[str, bool]:
        """Note an answer. Return the reply, and whether it is right; AnswerError if it has no form.

        The sentence on a step that passes is kept for the recap.
        """
        right, reply = quiz.mark(question, answer)
        self.note(question.id, right=right)
        if right:
            answered = sorted({*self.journal.answered(), question.id})
            self.journal.write({**self.journal.read(), "answered": answered})
        step = quiz.find_lesson(self.registry, question.id.rstrip("abcdefghijklmnop"))
        if not question.explains or not self.journal.keep_sentence(step.id, str(answer)):
            return reply, right
        return f"Kept for your recap. {reply}", True

    def take(self, say: Say, question: Question, answer: str) -> bool:
        """Say whether the answer is right, and why; return whether it is."""
        try:
            reply, right = self.mark(question, answer)
        except AnswerError as error:
            say(str(error), "")
            return False
        say(reply, "green" if right else "red")
        return right

    def ask(self, say: Say, wanted: Sequence[Question]) -> str:
        """Ask all of them, until the learner ends it; return the word that ended it, or ""."""
        say("Enter alone skips a question, q ends.", "")
        say("", "")
        for question in wanted:
            for line in quiz.show_question(question):
                say(line, "")
            while (answer := _read_answer()) and answer.lower() not in ENDS:
                if self.take(say, question, answer):
                    break
            if answer.lower() in ENDS:
                return answer.lower()
            say("", "")
        return ""


def _is_due(now: float, level: int, asked: float) -> bool:
    """Return whether a question is due that was answered right so often in a row, then last."""
    # A time in the future comes from a clock that was set back since.
    return level < len(DAYS) and not 0 <= now - asked < DAYS[level] * DAY


def choose(found: Sequence[Question]) -> tuple[Sequence[Question], str]:
    """Return as many questions as two minutes are enough for, and a sentence on their number."""
    asked = found[:MOST]
    count = f"{len(asked)} question{'s' * (len(asked) > 1)}"
    more = f", of {len(found)} that wait" if len(found) > MOST else ""
    return asked, f"{count} about steps that you have finished{more}."


def _read_answer() -> str:
    """Return what the learner types, or "q" at the end of the input."""
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return "q"
