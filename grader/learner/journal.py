"""Keep a learner's own record: steps passed, mistakes met, hints given, answers.

It is a small file beside the exercises, for the learner alone. No verdict depends on it. A file
that cannot be read or written, or that has another form, is ignored.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import Part, Registry

MOST_MISTAKES = 30  # of a step
LONGEST = 400  # characters of a learner's sentence
FILE = ".progress.json"
# The form of the file: steps, the parts that have ended, the questions answered, reviews, ask,
# reminded, and when it was last checked. A step has passed, since when, the mistakes met, hints and
# a sentence. A review is how often in a row its question was answered right, and when it was asked.
FORM = 2


class Journal:
    """The file, read again each time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def read(self) -> dict[str, Any]:
        """Return all notes; none if the file cannot be read or has another form."""
        data = read_notes(self.path)
        return data if data.get("form") == FORM else {"steps": {}}

    def write(self, data: dict[str, Any]) -> None:
        """Replace all notes, if that is possible."""
        write_notes(self.path, {"form": FORM, **data})

    def note(self, verdicts: Sequence[StepVerdict], now: float) -> list[str]:
        """Note the findings of a check.

        Return the steps that pass now and did not when they were last checked.
        """
        if all(verdict.status is Status.NOT_ATTEMPTED for verdict in verdicts):
            return []  # nobody has begun
        data, news = {**self.read(), "last": now}, []
        for verdict in verdicts:
            entry = data["steps"].setdefault(verdict.step, {})
            passes = verdict.status is Status.PASSED
            if passes and not entry.get("passed"):
                news.append(verdict.step)
                entry.setdefault("since", now)
            entry["passed"] = passes
            met = entry.get("met", [])
            known = (check.diagnosis for check in verdict.checks if check.diagnosis)
            said = dict.fromkeys(one.says for one in known if one.known)
            entry["met"] = [*met, *(one for one in said if one not in met)][:MOST_MISTAKES]
        self.write(data)
        return news

    def on_step(self, step: str) -> dict[str, Any]:
        """Return the notes on a step: the mistakes `met`, oldest first, its hints and sentence."""
        return {"met": [], "hints": [], "sentence": "", **self.read()["steps"].get(step, {})}

    def _note_step(self, step: str, name: str, value: Any) -> None:
        data = self.read()
        data["steps"].setdefault(step, {})[name] = value
        self.write(data)

    def note_hint(self, step: str, name: str) -> None:
        """Note that a hint was given."""
        self._note_step(step, "hints", sorted({*self.on_step(step)["hints"], name}))

    def answered(self) -> list[str]:
        """Return the ids of the questions that were answered correctly."""
        return list(self.read().get("answered", []))

    def keep_sentence(self, step: str, text: str) -> bool:
        """Keep a learner's sentence about a step that passes; return whether it does."""
        if passes := self.passed_since(step) is not None:
            self._note_step(step, "sentence", text[:LONGEST])
        return passes

    @property
    def asks(self) -> bool:
        """Return whether the learner wants to be asked after a step passes."""
        return bool(self.read().get("ask", True))

    def set_asks(self, ask: bool) -> None:
        """Note whether the learner wants to be asked after a step passes."""
        self.write({**self.read(), "ask": ask})

    def passed_since(self, step: str) -> float | None:
        """Return when a step that passes passed first; None if it does not pass."""
        entry = self.on_step(step)
        return float(entry["since"]) if entry.get("passed") else None

    def find_passed(self) -> set[str]:
        """Return the steps that passed when they were last checked."""
        return {name for name, entry in self.read()["steps"].items() if entry.get("passed")}

    def find_ended(self, registry: Registry, judged: Iterable[str]) -> Part | None:
        """Return the last part with one of these steps that has just been finished, and note it."""
        data, names, passed = self.read(), {*judged}, self.find_passed()
        told, ended = {*data.get("ended", [])}, None
        for part in registry.parts:
            steps = {step.id for step in registry.of(part)}
            if steps <= passed and steps & names and part.number not in told:
                ended = part
                told.add(part.number)
        if ended:
            self.write({**data, "ended": sorted(told)})
        return ended
