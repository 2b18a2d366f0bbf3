"""Keep a learner's own record: steps passed, mistakes met, minutes spent, hints given, answers.

It is a small file beside the exercises, for the learner alone. No verdict depends on it. A file
that cannot be read or written is ignored.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import Part, Registry, Step

PAUSE = 20 * 60.0  # seconds; after a longer pause the learner did something else
MOST_MISTAKES = 30  # of a step
LONGEST = 400  # characters of a learner's sentence
FILE = ".progress.json"


def _find_file(folder: Path) -> Path:
    """Return a folder's journal; one for temporary files if nothing can be written there."""
    if os.access(folder, os.W_OK) or not folder.is_dir():
        return folder / FILE
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"nopeek-{name}{FILE}"


class Journal:
    """The file, read again each time."""

    def __init__(self, folder: Path) -> None:
        self.path = _find_file(folder)

    def read(self) -> dict[str, Any]:
        """Return all notes; none if the file cannot be read."""
        data = read_notes(self.path)
        return data if isinstance(data.get("steps"), dict) else {"steps": {}, "ended": []}

    def write(self, data: dict[str, Any]) -> None:
        """Replace all notes, if that is possible."""
        write_notes(self.path, data)

    def note(self, verdicts: Sequence[StepVerdict], now: float) -> list[str]:
        """Note the findings of a check, and the time since the last one for the current step.

        Return the steps that pass now and did not when they were last checked.
        """
        if all(verdict.status is Status.NOT_ATTEMPTED for verdict in verdicts):
            return []  # nobody has begun
        data, news = self.read(), []
        self._note_time(data, verdicts, now)
        for verdict in verdicts:
            entry = _entry(data, verdict.step)
            passes = verdict.status is Status.PASSED
            if passes and not _is_passed(entry):
                news.append(verdict.step)
                entry.setdefault("since", now)
            entry["passed"] = passes
            met = entry.setdefault("met", [])
            known = (check.diagnosis for check in verdict.checks if check.diagnosis)
            said = dict.fromkeys(one.says for one in known if one.known)
            entry["met"] = [*met, *(one for one in said if one not in met)][:MOST_MISTAKES]
        self.write(data)
        return news

    def _note_time(self, data: dict[str, Any], verdicts: Sequence[StepVerdict], now: float) -> None:
        """Credit the time since the last check, unless there was a pause."""
        last, step = data.get("last"), data.get("working")
        if isinstance(last, (int, float)) and isinstance(step, str) and 0 < now - last < PAUSE:
            entry = _entry(data, step)
            entry["seconds"] = _number(entry.get("seconds")) + now - last
        undone = (verdict.step for verdict in verdicts if verdict.status is not Status.PASSED)
        data["last"], data["working"] = now, next(undone, verdicts[-1].step)

    @property
    def has_begun(self) -> bool:
        """Return whether a check of something written was noted."""
        return "last" in self.read()

    def mistakes(self, step: str) -> list[str]:
        """Return the mistakes that were named in the step, oldest first."""
        return _texts(_entry(self.read(), step).get("met"))

    def given_hints(self, step: str) -> list[str]:
        """Return the names of the hints that were given for a step."""
        return _texts(_entry(self.read(), step).get("hints"))

    def note_hint(self, step: str, name: str) -> None:
        """Note that a hint was given."""
        data = self.read()
        entry = _entry(data, step)
        entry["hints"] = sorted({*_texts(entry.get("hints")), name})
        self.write(data)

    def answered(self) -> list[str]:
        """Return the ids of the questions that were answered correctly."""
        return _texts(self.read().get("answered"))

    def note_answered(self, question: str) -> None:
        """Note that a question was answered correctly."""
        data = self.read()
        self.write({**data, "answered": sorted({*_texts(data.get("answered")), question})})

    def keep_sentence(self, step: str, text: str) -> None:
        """Keep what the learner says about a step that passes, in a sentence."""
        data = self.read()
        _entry(data, step)["sentence"] = text[:LONGEST]
        self.write(data)

    def sentence(self, step: str) -> str:
        """Return the learner's own sentence about a step, or ""."""
        text = _entry(self.read(), step).get("sentence")
        return text if isinstance(text, str) else ""

    @property
    def asks(self) -> bool:
        """Return whether the learner wants to be asked after a step passes."""
        return self.read().get("ask") is not False

    def set_asks(self, ask: bool) -> None:
        """Note whether the learner wants to be asked after a step passes."""
        self.write({**self.read(), "ask": ask})

    def minutes(self, step: str) -> int:
        """Return how many minutes the step took, as far as the checks show; 0 if unknown."""
        return round(_number(_entry(self.read(), step).get("seconds")) / 60)

    def passed_since(self, step: str) -> float | None:
        """Return when a step that passes passed first; None if it does not pass."""
        data = self.read()
        entry = data["steps"].get(step)
        if not _is_passed(entry):
            return None
        since = entry.get("since", data.get("last"))
        return float(since) if isinstance(since, (int, float)) else 0.0

    def has_passed(self, registry: Registry, part: Part) -> bool:
        """Return whether every step of the part passed when it was last checked."""
        steps = self.read()["steps"]
        return all(_is_passed(steps.get(step.id)) for step in registry.of(part))

    def find_unfinished(self, registry: Registry) -> Step | None:
        """Return the first step that did not pass when it was last checked; None if all did."""
        steps = self.read()["steps"]
        return next((step for step in registry.steps if not _is_passed(steps.get(step.id))), None)

    def find_ended(self, registry: Registry, judged: Iterable[str]) -> Part | None:
        """Return the last part with one of these steps that has just been finished, and note it."""
        data, names = self.read(), {*judged}
        passed = {name for name, entry in data["steps"].items() if _is_passed(entry)}
        ended = data.get("ended")
        told = {n for n in ended if isinstance(n, int)} if isinstance(ended, list) else set()
        news = []
        for part in registry.parts:
            steps = {step.id for step in registry.of(part)}
            if steps and steps <= passed and steps & names and part.number not in told:
                news.append(part)
        if news:
            data["ended"] = sorted({*told, *(part.number for part in news)})
            self.write(data)
        return news[-1] if news else None


def _entry(data: dict[str, Any], step: str) -> dict[str, Any]:
    """Return the entry of a step, or a new one."""
    if not isinstance(data["steps"].get(step), dict):
        data["steps"][step] = {}
    entry: dict[str, Any] = data["steps"][step]
    if not isinstance(entry.get("met", []), list):
        entry["met"] = []
    return entry


def _is_passed(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("passed") is True


def _number(value: object) -> float:
    is_number = isinstance(value, (int, float)) and 0 <= value < 1e7
    return float(value) if is_number else 0.0  # type: ignore[arg-type]


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
