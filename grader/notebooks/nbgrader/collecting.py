"""Collect from nbgrader's exchange: copy what students put there, and follow no link.

In the exchange on a shared machine, students make their folders themselves. nbgrader's own copy
follows links with the instructor's rights. So a link to the solutions would be handed in as the
solutions. It also stops at the first folder that cannot be copied.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR
from itertools import islice
from pathlib import Path
from typing import Any

from nbgrader.converters import base
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns, parse_utc

from grader.intake.entries import MAX_CLASS
from grader.intake.folders import Folder, SubmissionError
from grader.report.names import show_name

MAX_DEPTH = 20
MAX_FILES = 500  # of a student; nbgrader's own commands take the time of their number squared
OWN = (".ipynb", ".py")
MAX_ENTRIES = 10_000  # of a student in the exchange
TIME, SECRET = "timestamp.txt", "submission_secret.txt"  # which nbgrader's `submit` adds
MAX_TIME = 100  # bytes; reading a longer text takes the time of its length squared
MAX_SECRET = 1000
NO_ID = "no student can have that id in nbgrader"
MARKUP = '<>"\\%#&`'
NOT_TAKEN = "it is a link, or not a regular file with a printable name"
EFFECTIVE = os.access in os.supports_effective_ids


def is_shown(name: str) -> bool:
    """Return whether nbgrader can show a student with that id.

    The formgrader writes ids into its pages and links as they are, where `"` or `<` begins a
    script. A line end in a name ends `autograde` for all.
    """
    return name.isprintable() and not set(name) & set(MARKUP)


def is_id(name: str) -> bool:
    """Return whether nbgrader can also tell the folder of a student with that id from all others.

    It takes `*`, `?` and `[` in a folder's name as a pattern, so such a student's notebooks would
    be those of others, who then are not graded.
    """
    return is_shown(name) and not set(name) & set("*?[") and name.strip(".") != ""


def _is_plain(path: Path, inside: Path) -> bool:
    """Return whether it is a folder or regular file that can be read.

    Its name below the student's folder is printable too: nbgrader logs it as it is, and a line end
    would begin a line of the student's choice.
    """
    try:
        if path.is_symlink() or not str(path.relative_to(inside)).isprintable():
            return False
        readable = os.access(path, os.R_OK, effective_ids=EFFECTIVE)
        return path.is_dir() or (path.is_file() and readable)
    except OSError:  # it is in a folder that may be listed but not entered
        return False


def _find_files(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the files that nbgrader finds in a folder, without those whose name has a pattern.

    nbgrader compares each file with the whole folder, which takes minutes for 5,000 files.
    """
    for place, folders, files in os.walk(folder):
        folders[:] = _without(folders, patterns)
        for name in _first(_without(files, patterns)):
            yield Path(place, name)


def _without(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that no pattern matches. As in a shell, `*` matches no hidden file."""
    found = set(names)
    for pattern in patterns:
        hidden = pattern.startswith(".")
        found.difference_update(
            name for name in fnmatch.filter(names, pattern) if hidden or not name.startswith(".")
        )
    return sorted(found)


def _first(names: Sequence[str]) -> list[str]:
    """Return names with those first that matter most, because only so many files are copied."""
    return sorted(names, key=lambda name: name not in (TIME, SECRET) and not name.endswith(OWN))


def _is_time(data: bytes) -> bool:
    """Return whether a file's content is a time that nbgrader reads at once, in any time zone.

    One at the end of the calendar would end the formgrader's list of everybody's submissions.
    """
    if len(data) > MAX_TIME:
        return False
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        year: int = parse_utc(data.decode().strip()).year
        return MINYEAR < year < MAXYEAR
    return False


def _is_secret(data: bytes) -> bool:
    return 0 < len(data) <= MAX_SECRET and data.isascii()


def _holds(folder: Path, name: str, fits: Callable[[bytes], bool]) -> bool:
    """Return whether a folder has a file of that name whose content fits."""
    try:
        with Folder.open(folder) as place:
            return fits(place.read(name, MAX_SECRET + 1))
    except SubmissionError:
        return False


def _has_time(folder: Path) -> bool:
    """Return whether nbgrader's note on when a folder was handed in holds a time."""
    return _holds(folder, TIME, _is_time)


@contextlib.contextmanager
def without_links() -> Iterator[None]:
    """Make nbgrader copy only regular files beside the notebooks, never the targets of links.

    Nor does it read or copy a student's note that holds no time.
    """
    find, read_time = base.find_all_files, CourseDirectory.get_existing_timestamp

    def find_regular(path: str, exclude: list[str] | None = None) -> list[str]:
        files = (
            one for one in _find_files(Path(path), exclude or ()) if _is_plain(one, Path(path))
        )
        known = (one for one in files if one.name != TIME or _has_time(one.parent))
        return [str(one) for one in islice(known, MAX_FILES)]

    def find_time(course: Any, folder: str) -> Any:
        return read_time(course, folder) if _has_time(Path(folder)) else None

    base.find_all_files = find_regular
    CourseDirectory.get_existing_timestamp = find_time
    try:
        yield
    finally:
        base.find_all_files = find
        CourseDirectory.get_existing_timestamp = read_time


def _complete(folder: Path, name: str) -> None:
    """Write nbgrader's own files into a collected folder if a student has left or spoiled them.

    Without them `release_feedback` ends for everybody. name: of the folder in the exchange, which
    holds the time.
    """
    if not _has_time(folder):
        time = f"{parse_utc(name.rsplit('+', 3)[2])} UTC"  # as nbgrader reads it
        if not _is_time(time.encode()):
            raise ValueError("its name holds a time at the end of the calendar")
        _replace(folder / TIME, time)
    if not _holds(folder, SECRET, _is_secret):
        _replace(folder / SECRET, secrets.token_hex(32))


def _replace(path: Path, text: str) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(text)


@dataclass
class _Left:
    """How much of a submission may still be copied: bytes, and files and folders."""

    size: int
    entries: int


class Collect(ExchangeCollect):  # type: ignore[misc]  # nbgrader has no types
    """Replaces nbgrader's own collector."""

    src_records: list[dict[str, Any]]
    _left: _Left

    def copy_files(self) -> None:
        """Collect everybody's submission, if it is under a name that a student can have."""
        for record in self.src_records:
            if not is_id(record["username"]):
                self.log.error(f"%s is not collected: {NO_ID}.", show_name(record["filename"]))
        self.src_records = [one for one in self.src_records if is_id(one["username"])]
        with without_links():
            super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission without its links; one that cannot be copied does not stop the rest.

        It gets its name when it is whole, because nbgrader collects nothing twice.
        """
        part = Path(dest).with_name(f".{Path(dest).name}.new")
        shutil.rmtree(part, ignore_errors=True)  # what a killed run has left
        try:
            self._copy(Path(src), part)
            _complete(part, Path(src).name)
            part.rename(dest)
        except (OSError, ValueError, SubmissionError) as error:
            shutil.rmtree(part, ignore_errors=True)
            why = "it cannot be read" if isinstance(error, OSError) else str(error)
            self.log.error("%s is not collected: %s.", show_name(Path(src).name), why)

    def _copy(self, src: Path, dest: Path) -> None:
        """Copy a folder through descriptors, so that a file that becomes a link is not followed."""
        if self.get_size(src) > 1000 * self.coursedir.max_dir_size:
            raise ValueError(self._too_large())
        self._left = _Left(1000 * self.coursedir.max_dir_size, MAX_ENTRIES)
        with Folder.open(src.parent, MAX_CLASS) as inbound:
            dest.parent.mkdir(parents=True, exist_ok=True)
            self._copy_folder(inbound.into(src.name), dest)
        if self._left.entries < 0:
            many = f"only the first {MAX_ENTRIES:,} of its files and folders are"
            self.log.warning("%s: %s collected.", show_name(src.name), many)

    def _too_large(self) -> str:
        return f"it is larger than {self.coursedir.max_dir_size:,} kB"

    def _copy_folder(self, folder: Folder, dest: Path, depth: int = 0) -> None:
        """Copy the contents of a folder, as much as is left."""
        if depth > MAX_DEPTH:
            raise ValueError("its folders are nested too deeply")
        dest.mkdir()
        course = self.coursedir
        by_name = ignore_patterns(course.ignore, course.include, course.max_file_size, self.log)
        names = [*_first(folder.files()), *folder.folders()]
        ignored = by_name(str(folder.path), [name for name in names if name.isprintable()])
        for name in (name for name in names if name not in ignored):
            self._left.entries -= 1
            if self._left.entries < 0:
                break
            kind = folder.kind(name) if name.isprintable() else ""
            if kind == "folder":
                self._copy_folder(folder.into(name), dest / name, depth + 1)
            elif kind == "file":
                self._copy_file(folder, name, dest / name)
            else:
                self.log.warning("%s is not copied: %s.", show_name(name), NOT_TAKEN)
        if course.groupshared:
            dest.chmod(dest.stat().st_mode & 0o777 | 0o2770)

    def _copy_file(self, folder: Folder, name: str, dest: Path) -> None:
        with folder.file(name) as file, dest.open("xb") as copy:
            while piece := file.read(2**20):
                self._left.size -= len(piece)
                if self._left.size < 0:
                    raise ValueError(self._too_large())
                copy.write(piece)
            when = os.fstat(file.fileno())
        os.utime(dest, ns=(when.st_atime_ns, when.st_mtime_ns))
        if self.coursedir.groupshared:
            dest.chmod(dest.stat().st_mode & 0o777 | 0o660)
