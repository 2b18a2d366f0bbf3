"""Find the files of a hand-in: up to four folders down, in zips, and in zips in them."""

from __future__ import annotations

import pathlib
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from grader.intake.archives import Archive
from grader.intake.filenames import is_packed
from grader.intake.folders import Place, SubmissionError
from grader.report.names import show_name
from grader.steps.paths import ROOT

MAX_DOWN = 4
MAX_FILES = 20_000
MAX_FOLDERS = 200  # each is open while the hand-in is read
MAX_ZIPS = 10
MAX_NESTED = 2  # zips around a file
# The kit's folders that nobody hands in.
KITS = ("solutions", "tests", "grader", "docs", "notebooks/nbgrader")
Path = tuple[str, ...]


def open_zip(place: Place, name: str, until: ExitStack) -> Archive:
    """Return the zip of that name in a place, open as long as the stack is.

    Raise SubmissionError if it cannot be read or is not a zip.
    """
    if not name.lower().endswith(".zip"):
        raise SubmissionError("only zip archives are read: hand in a zip, or the files")
    try:
        file = until.enter_context(place.file(name))
        return Archive.open(file, place.modified(name))
    except FileNotFoundError as error:
        raise SubmissionError("it is not there") from error


def is_own_zip(place: Place) -> bool:
    """Return whether a place is in a student's own zip, not only in that of the class."""
    return isinstance(place, Archive) and place.changed is not None


@dataclass(frozen=True)
class File:
    """A file of a hand-in, in these folders and zips."""

    place: Place
    folder: Path
    name: str

    @property
    def path(self) -> Path:
        """Return its folders and its name."""
        return (*self.folder, self.name)

    @property
    def shown(self) -> str:
        """Return its path for a sentence."""
        return show_name("/".join(self.path))

    def is_kits(self, folders: Sequence[str] = KITS) -> bool:
        """Return whether it is an unchanged file of the kit, in one of these folders of a clone."""
        with suppress(OSError, ValueError, SubmissionError):
            if path := _find_in_kit(self.path, folders):
                kits = path.read_bytes()
                return self.place.read(self.name, len(kits) + 1) == kits
        return False


def _find_in_kit(path: Path, folders: Sequence[str]) -> pathlib.Path | None:
    """Return what the kit has at the end of a path, from one of these folders on."""
    for at in range(len(path) - 1):
        if path[at] in folders or "/".join(path[at : at + 2]) in folders:
            return ROOT.joinpath(*path[at:])
    return None


class Tree:
    """The files of a hand-in, and the reason for each that may be work and is not among them."""

    def __init__(self, until: ExitStack, zips: int = MAX_ZIPS) -> None:
        self.until = until
        self.files: list[File] = []
        self.unread: dict[str, str] = {}
        self.left = zips
        self.waiting: deque[tuple[Place, Path, int, int]] = deque()

    def add(self, place: Place, path: Path = ()) -> None:
        """Add the files of a place. Raise SubmissionError if it cannot be listed."""
        self._list(place, path, 0, int(is_own_zip(place)))
        folders = 0
        while self.waiting:
            above, below, down, nested = self.waiting.popleft()
            folders += 1
            try:
                if folders > MAX_FOLDERS:
                    raise SubmissionError(f"there are more than {MAX_FOLDERS} folders")
                if down > MAX_DOWN:
                    raise SubmissionError(f"it is more than {MAX_DOWN} folders down")
                self._list(above.into(below[-1]), below, down, nested)
            except SubmissionError as error:
                kits = _find_in_kit(below, KITS)
                if not (kits and kits.is_dir()):
                    self._refuse(f"{show_name('/'.join(below))}/", error)

    def _list(self, place: Place, path: Path, down: int, nested: int) -> None:
        for name in place.files():
            if is_packed(name):
                self._unpack(place, (*path, name), down, nested)
            else:
                self.files.append(File(place, path, name))
            if len(self.files) > MAX_FILES:
                raise SubmissionError(f"it holds more than {MAX_FILES:,} files")
        self.waiting += [(place, (*path, name), down + 1, nested) for name in place.folders()]

    def _unpack(self, place: Place, path: Path, down: int, nested: int) -> None:
        try:
            if nested == MAX_NESTED:
                raise SubmissionError("it is a zip in a zip in a zip")
            self.left -= 1
            if self.left < 0:
                raise SubmissionError(f"only {MAX_ZIPS} archives are opened")
            self._list(open_zip(place, path[-1], self.until), path, down, nested + 1)
        except SubmissionError as error:
            self._refuse(show_name("/".join(path)), error)

    def _refuse(self, name: str, reason: object) -> None:
        if len(self.unread) < MAX_FILES:
            self.unread[name] = str(reason)
