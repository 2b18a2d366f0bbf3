"""Reading what a student hands in: known names, regular files, bounded sizes; never run."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.registry import Registry, Step

MAX_SOURCE = 1_000_000


class SubmissionError(Exception):
    """The submission cannot be read at all; the text says why."""


@dataclass(frozen=True)
class Submission:
    """A student's sources by step id, and, for files that could not be taken, the reason."""

    id: str
    sources: Mapping[str, str] = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Of all step files, by name; the same sources have the same hash wherever they lie."""
        state = hashlib.sha256()
        for name in sorted(self.sources):
            data = self.sources[name].encode("utf-8", "surrogatepass")
            state.update(f"{name}\0{len(data)}\0".encode() + data)
        return state.hexdigest()


def _read(folder: int, name: str) -> str:
    """The text of one regular file, opened without following a link or waiting for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(name, flags | getattr(os, "O_BINARY", 0), dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # os.fdopen would fail for a folder, and leave it open
        raise SubmissionError("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return decoded(file.read(MAX_SOURCE + 1))


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


def _open_folder(folder: Path) -> int | None:
    """A descriptor to open files in, where the platform has that."""
    if os.open not in os.supports_dir_fd:
        return None
    try:
        return os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError as error:
        raise SubmissionError(f"{folder} cannot be opened: {error.strerror}") from error


def _read_step(folder: Path, descriptor: int | None, step: Step) -> str:
    if descriptor is not None:
        return _read(descriptor, step.filename)
    path = folder / step.filename
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise SubmissionError("it is not a regular file")
    with path.open("rb") as file:
        return decoded(file.read(MAX_SOURCE + 1))


def read_folder(folder: Path, registry: Registry, name: str | None = None) -> Submission:
    """The step files in a folder; whatever else lies there is ignored."""
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder}")
    sources: dict[str, str] = {}
    refused: dict[str, str] = {}
    descriptor = _open_folder(folder)
    try:
        for step in registry.steps:
            try:
                sources[step.id] = _read_step(folder, descriptor, step)
            except FileNotFoundError:
                continue
            except SubmissionError as error:
                refused[step.id] = f"{step.filename} cannot be read: {error}."
            except OSError:
                refused[step.id] = f"{step.filename} cannot be read: it is not a regular file."
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return Submission(name or folder.resolve().name, sources, refused)
