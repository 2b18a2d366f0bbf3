"""Collect from nbgrader's exchange: copy what students put there, and follow no link.

In the exchange on a shared machine, students make their folders themselves. nbgrader's own copy
follows links with the instructor's rights. So a link to the solutions would be handed in as the
solutions. It also stops at the first folder that cannot be copied.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.converters import base
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns

from grader.intake.entries import MAX_CLASS
from grader.intake.folders import Folder, SubmissionError
from grader.report.names import show_name

MAX_DEPTH = 20
NOT_TAKEN = "it is a link, or no regular file"


def _is_other(path: Path) -> bool:
    """Return whether it is neither a folder nor a regular file."""
    return path.is_symlink() or not (path.is_dir() or path.is_file())


@contextlib.contextmanager
def without_links() -> Iterator[None]:
    """Make nbgrader copy only regular files beside the notebooks, never the targets of links."""
    find = base.find_all_files

    def find_regular(path: str, exclude: list[str] | None = None) -> list[str]:
        return [file for file in find(path, exclude) if not _is_other(Path(file))]

    base.find_all_files = find_regular
    try:
        yield
    finally:
        base.find_all_files = find


class Collect(ExchangeCollect):  # type: ignore[misc]  # nbgrader has no types
    """Replaces nbgrader's own collector."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission without its links; one that cannot be copied does not stop the rest."""
        try:
            self._copy(Path(src), Path(dest))
        except (OSError, ValueError, SubmissionError) as error:
            shutil.rmtree(dest, ignore_errors=True)
            why = "it cannot be read" if isinstance(error, OSError) else str(error)
            self.log.error("%s is not collected: %s.", show_name(Path(src).name), why)

    def _copy(self, src: Path, dest: Path) -> None:
        """Copy a folder through descriptors, so that a file that becomes a link is not followed."""
        if self.get_size(src) > 1000 * self.coursedir.max_dir_size:
            raise ValueError(self._too_large())
        with Folder.open(src.parent, MAX_CLASS) as inbound:
            dest.parent.mkdir(parents=True, exist_ok=True)
            self._copy_folder(inbound.into(src.name), dest, 1000 * self.coursedir.max_dir_size)

    def _too_large(self) -> str:
        return f"it is larger than {self.coursedir.max_dir_size:,} kB"

    def _copy_folder(self, folder: Folder, dest: Path, room: int, depth: int = 0) -> int:
        """Copy the contents of a folder, at most `room` bytes, and return how much room is left."""
        if depth > MAX_DEPTH:
            raise ValueError("its folders are nested too deeply")
        dest.mkdir()
        course = self.coursedir
        by_name = ignore_patterns(course.ignore, course.include, course.max_file_size, self.log)
        names = [*folder.files(), *folder.folders()]
        ignored = by_name(str(folder.path), names)
        for name in (name for name in names if name not in ignored):
            if folder.kind(name) == "folder":
                room = self._copy_folder(folder.into(name), dest / name, room, depth + 1)
            elif folder.kind(name) == "file":
                room = self._copy_file(folder, name, dest / name, room)
            else:
                self.log.warning("%s is not copied: %s.", show_name(name), NOT_TAKEN)
        if course.groupshared:
            dest.chmod(dest.stat().st_mode & 0o777 | 0o2770)
        return room

    def _copy_file(self, folder: Folder, name: str, dest: Path, room: int) -> int:
        with folder.file(name) as file, dest.open("xb") as copy:
            while piece := file.read(2**20):
                room -= len(piece)
                if room < 0:
                    raise ValueError(self._too_large())
                copy.write(piece)
            when = os.fstat(file.fileno())
        os.utime(dest, ns=(when.st_atime_ns, when.st_mtime_ns))
        if self.coursedir.groupshared:
            dest.chmod(dest.stat().st_mode & 0o777 | 0o660)
        return room
