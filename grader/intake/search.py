"""Find the files of a hand-in: up to four folders down, and in zips.

If a platform has numbered all folders in a folder (`Attempt 1`, `Version 2`), the last one counts.
"""

import io
import pathlib
import re
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from grader.intake.archives import MAX_ARCHIVE, Archive, Place
from grader.intake.filenames import kind_of
from grader.intake.folders import SubmissionError
from grader.report.names import show_name
from grader.steps.paths import ROOT

MAX_DOWN = 4
MAX_FILES = 20_000
MAX_FOLDERS = 200  # each is open while the hand-in is read
MAX_ZIPS = 10
# The kit's folders that nobody hands in.
KITS = ("solutions", "tests", "grader", "docs", "notebooks/nbgrader")
Path = tuple[str, ...]
_NUMBERED = re.compile(r"(?:attempt|version)[ _-]?(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True)
class Spot:
    """A place in a hand-in, its path, and how many folders down it is."""

    place: Place
    path: Path = ()
    down: int = 0


@dataclass(frozen=True)
class File:
    """A file of a hand-in. there: its name in its place, if that is another."""

    spot: Spot
    name: str
    there: str = ""

    @property
    def path(self) -> Path:
        """Return its folders and its name."""
        return (*self.spot.path, self.name)

    @property
    def shown(self) -> str:
        """Return its path for a sentence."""
        return show_name("/".join(self.path))

    def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes of it. Raise SubmissionError if that fails."""
        return self.spot.place.read(self.there or self.name, limit)

    def is_kits(self, folders: Sequence[str] = KITS) -> bool:
        """Return whether it is an unchanged file of the kit, in one of these folders of a clone."""
        with suppress(OSError, ValueError, SubmissionError):
            if path := _find_in_kit(self.path, folders):
                kits = path.read_bytes()
                return self.read(len(kits) + 1) == kits
        return False


def _find_in_kit(path: Path, folders: Sequence[str]) -> pathlib.Path | None:
    """Return what the kit has at the end of a path, from one of these folders on."""
    for at in range(len(path) - 1):
        if path[at] in folders or "/".join(path[at : at + 2]) in folders:
            return ROOT.joinpath(*path[at:])
    return None


class Tree:
    """The files of a hand-in, and the reason for each that may be work and is not among them.

    zips: how many are opened.
    """

    def __init__(self, zips: int = MAX_ZIPS) -> None:
        self.zips = zips
        self.room = MAX_ARCHIVE  # for all zips
        self.files: list[File] = []
        self.unread: dict[str, str] = {}
        self.notes: list[str] = []
        self.folders = 0
        self.waiting: deque[tuple[Spot, str]] = deque()

    def add(self, spot: Spot) -> None:
        """Add the files of a place. Raise SubmissionError if it cannot be listed."""
        folders, files = spot.place.names()
        found = [match for match in map(_NUMBERED.fullmatch, folders) if match]
        if len(found) == len(folders) > 1 and not any(map(kind_of, files)):
            folders = [max(found, key=lambda match: int(match[1]))[0]]
            latest = f"{show_name(folders[0])} counts, as the latest"
            self.notes.append(f"There are {len(found)} attempts; {latest}.")
        self.waiting += [(spot, name) for name in folders]
        for name in files:
            self.add_file(File(spot, name), (*spot.path, name))

    def add_file(self, file: File, inside: Path) -> None:
        """Add a file, or if it is a zip, the files in it. inside: the path that these get."""
        if kind_of(file.name) != "archive":
            self.files.append(file)
            if len(self.files) > MAX_FILES:
                raise SubmissionError(f"it holds more than {MAX_FILES:,} files")
            return
        self.zips -= 1
        try:
            if self.zips < 0:
                raise SubmissionError(f"only {MAX_ZIPS} archives are opened")
            if not file.name.lower().endswith(".zip"):
                raise SubmissionError("only zip archives are read: hand in a zip, or the files")
            data = file.read(self.room + 1)
            if len(data) > self.room:
                raise SubmissionError(f"its archives are larger than {MAX_ARCHIVE // 2**20} MiB")
            self.room -= len(data)
            self.add(Spot(Archive.open(io.BytesIO(data)), inside, file.spot.down))
        except SubmissionError as error:
            self.unread[file.shown] = str(error)

    def find_files(self) -> list[File]:
        """Return the files of what was added, and below."""
        while self.waiting:
            above, name = self.waiting.popleft()
            path = (*above.path, name)
            self.folders += 1
            try:
                if self.folders > MAX_FOLDERS:
                    raise SubmissionError(f"there are more than {MAX_FOLDERS} folders")
                if above.down == MAX_DOWN:
                    raise SubmissionError(f"it is more than {MAX_DOWN} folders down")
                self.add(Spot(above.place.into(name), path, above.down + 1))
            except SubmissionError as error:
                kits = _find_in_kit(path, KITS)
                if not (kits and kits.is_dir()):
                    self.unread[f"{show_name('/'.join(path))}/"] = str(error)
        return self.files
