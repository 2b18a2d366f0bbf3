"""Keep a learner's own record: steps passed, mistakes met, hints given, answers.

It is a small file beside the exercises, for the learner alone. No verdict depends on it. A file
that cannot be read or written, or that somebody has spoilt, is ignored.
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
# What the file may hold; "" is any key. A step's `since` is when it first passed, and `met` are the
# mistakes. A review is how often in a row its question was answered right, and when it was asked.
STEP = {"passed": True, "since": 0.0, "met": [""], "hints": [""], "sentence": ""}
FORM = {
    **{"steps": {"": STEP}, "ended": [0], "answered": [""], "reviews": {"": [0.0]}},
    **{"ask": True, "reminded": 0.0, "last": 0.0},
}


def _has_form(value: Any, form: Any) -> bool:
    """Return whether JSON data is made like a form, of which it may lack keys."""
    if isinstance(form, dict):
        return isinstance(value, dict) and all(
            _has_form(one, form.get(key, form.get(""))) for key, one in value.items()
        )
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(one, form[0]) for one in value)
    kinds = (int, float) if isinstance(form, float) else type(form)
    return form is None or isinstance(value, kinds)


class Journal:
    """The file, read again each time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def read(self) -> dict[str, Any]:
        """Return all notes; none if the file cannot be read."""
        data = read_notes(self.path)
        return {"steps": {}, **(data if _has_form(data, FORM) else {})}

    def write(self, data: dict[str, Any]) -> None:
        """Replace all notes, if that is possible."""
        write_notes(self.path, data)

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

    @property
    def has_begun(self) -> bool:
        """Return whether a check of something written was noted."""
        return "last" in self.read()

    def _of_step(self, step: str, name: str, default: Any) -> Any:
        """Return one of the notes on a step."""
        return self.read()["steps"].get(step, {}).get(name, default)

    def _note_step(self, step: str, name: str, value: Any) -> None:
        data = self.read()
        data["steps"].setdefault(step, {})[name] = value
        self.write(data)

    def mistakes(self, step: str) -> list[str]:
        """Return the mistakes that were named in the step, oldest first."""
        return list(self._of_step(step, "met", []))

    def given_hints(self, step: str) -> list[str]:
        """Return the names of the hints that were given for a step."""
        return list(self._of_step(step, "hints", []))

    def note_hint(self, step: str, name: str) -> None:
        """Note that a hint was given."""
        self._note_step(step, "hints", sorted({*self.given_hints(step), name}))

    def answered(self) -> list[str]:
        """Return the ids of the questions that were answered correctly."""
        return list(self.read().get("answered", []))

    def note_answered(self, question: str) -> None:
        """Note that a question was answered correctly."""
        self.write({**self.read(), "answered": sorted({*self.answered(), question})})

    def keep_sentence(self, step: str, text: str) -> bool:
        """Keep a learner's sentence about a step that passes; return whether it does."""
        if passes := self.passed_since(step) is not None:
            self._note_step(step, "sentence", text[:LONGEST])
        return passes

    def sentence(self, step: str) -> str:
        """Return the learner's own sentence about a step, or ""."""
        return str(self._of_step(step, "sentence", ""))

    @property
    def asks(self) -> bool:
        """Return whether the learner wants to be asked after a step passes."""
        return bool(self.read().get("ask", True))

    def set_asks(self, ask: bool) -> None:
        """Note whether the learner wants to be asked after a step passes."""
        self.write({**self.read(), "ask": ask})

    def passed_since(self, step: str) -> float | None:
        """Return when a step that passes passed first; None if it does not pass."""
        entry = self.read()["steps"].get(step, {})
        return float(entry.get("since", 0)) if entry.get("passed") else None

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
