"""Reading what a student hands in: known names, regular files, bounded sizes; never run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.intake.folders import Folder, SubmissionError
from grader.steps.registry import Registry

__all__ = [
    "MAX_SOURCE",
    "Submission",
    "SubmissionError",
    "decoded",
    "from_notebook",
    "place",
    "left_open",
    "read_folder",
]

MAX_SOURCE = 1_000_000
MARK = "# from {cell}{grade_id}"
LEFT_OPEN = "# {name} is left out: a bracket or a quote is never closed"
GUARD = "with _suppress(Exception): "  # put before an assignment of a notebook
_MARK = re.compile(r"# from (.{1,80}, cell \d{1,6}|cell In\[\d{1,6}\])(?: \(\w*\))?")


@dataclass(frozen=True)
class Submission:
    """A student's sources by step id, and, for files that could not be taken, the reason."""

    id: str
    sources: Mapping[str, str] = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What had to be passed over, or guessed, in order to read it."""

    @property
    def sha256(self) -> str:
        """Of all step files, by name; the same sources have the same hash wherever they lie."""
        state = hashlib.sha256()
        for name in sorted(self.sources):
            data = self.sources[name].encode("utf-8", "surrogatepass")
            state.update(f"{name}\0{len(data)}\0".encode() + data)
        return state.hexdigest()


def decoded(data: bytes) -> str:
    """A source file's text; SubmissionError if it is too long or no UTF-8 text."""
    if len(data) > MAX_SOURCE:
        raise SubmissionError(f"it is longer than {MAX_SOURCE:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SubmissionError("it is not UTF-8 text") from error
    if "\0" in text:
        raise SubmissionError("it contains a null byte")
    return text.replace("\r\n", "\n")


def refusal(filename: str, reason: object) -> str:
    """The sentence for a file that could not be taken."""
    return f"{filename} cannot be read: {reason}."


def place(source: str, number: int, filename: str) -> tuple[str, str]:
    """Where a line of a source was written, for a reader, and the line; ("", "") if it has none.

    That is a file and a line, or, in a source that was put together from a notebook, the cell and
    the line in it.
    """
    lines = re.split(r"\r\n?|\n", source)  # as Python counts them; splitlines() sees more
    if not 0 < number <= len(lines):
        return "", ""
    text = lines[number - 1].strip().removeprefix(GUARD)
    for above in range(number - 1, 0, -1):
        if mark := _MARK.fullmatch(lines[above - 1]):
            return f"{mark[1]}, line {number - above}", text
    return f"{filename}, line {number}", text


def from_notebook(source: str) -> bool:
    """Whether a source was put together from a notebook's cells."""
    return any(_MARK.fullmatch(line) for line in source.split("\n"))


def left_open(source: str, name: str) -> str:
    """Where a function stood that was left out for an open bracket or quote; "" if none was."""
    for number, line in enumerate(re.split(r"\r\n?|\n", source), 1):
        if line == LEFT_OPEN.format(name=name):
            return place(source, number, "")[0]
    return ""


def read_folder(folder: Path, registry: Registry, name: str | None = None) -> Submission:
    """The step files in a folder of one's own; whatever else lies there is ignored."""
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder}")
    sources: dict[str, str] = {}
    refused: dict[str, str] = {}
    with Folder.open(folder) as place:
        for step in registry.steps:
            try:
                with place.file(step.filename) as file:
                    sources[step.id] = decoded(file.read(MAX_SOURCE + 1))
            except FileNotFoundError:
                continue
            except SubmissionError as error:
                refused[step.id] = refusal(step.filename, error)
            except OSError as error:
                refused[step.id] = refusal(step.filename, error.strerror or "the disk failed")
    return Submission(name or folder.resolve().name, sources, refused)
