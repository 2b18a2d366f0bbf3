"""Share progress among notebooks, in a small file beside the exercises.

For each step it holds the result of its notebook's last check, and what `save_work()` wrote last. A
file that cannot be read or written is ignored.
"""

import hashlib
import time
from pathlib import Path
from typing import Any

from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import Step


class ProgressFile:
    """The file, read again each time, because other notebooks write it too."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".notebooks.json"

    def _write(self, step: str, **news: Any) -> None:
        data = read_notes(self.path)
        entry = data.get(step)
        data[step] = {**(entry if isinstance(entry, dict) else {}), **news}
        write_notes(self.path, data)

    def note_checked(self, verdict: StepVerdict) -> None:
        """Note that a notebook's step was checked as a whole."""
        points = [verdict.status.value, verdict.points, verdict.on_own_steps]
        self._write(verdict.step, checked=points, at=time.time())

    def last(self, step: Step, file: Path) -> StepVerdict | None:
        """Return a notebook's last check, or None if the file is newer or unchecked."""
        entry = read_notes(self.path).get(step.id)
        try:
            status, points, own = entry["checked"]  # type: ignore[index]
            newer = file.exists() and file.stat().st_mtime > entry["at"]  # type: ignore[index]
            verdict = StepVerdict(
                *(step.id, step.title, Status(status), float(points), step.max_points, (), own)
            )
        except (KeyError, TypeError, ValueError, OSError):
            return None
        return None if newer else verdict

    def note_saved(self, step: Step, text: str) -> None:
        """Note that this text was written into the exercises."""
        self._write(step.id, saved=_hash(text))

    def is_ours(self, step: Step, text: str) -> bool:
        """Return whether that is the text which was written last."""
        entry = read_notes(self.path).get(step.id)
        return isinstance(entry, dict) and entry.get("saved") == _hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
