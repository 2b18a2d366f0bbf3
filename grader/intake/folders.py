"""Read a folder that somebody else made, without following links or waiting for pipes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol

MAX_NAMES = 10_000
LITTER = frozenset({"__macosx", "__pycache__", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"})


class SubmissionError(Exception):
    """The submission, or one of its files, cannot be read; the text says why."""


def litter(name: str) -> bool:
    """Return whether a name is hidden, or is one that systems and editors leave behind."""
    return name.startswith((".", "~$")) or name.lower() in LITTER


def moment(seconds: float) -> tuple[int, ...]:
    """Return a time in UTC, year to second; if it is not a time, (), which sorts first."""
    try:
        return tuple(time.gmtime(seconds)[:6])
    except (OverflowError, OSError, ValueError):
        return ()


class Place(Protocol):
    """A place with files: a folder, a folder in a zip, or some files of a folder."""

    def folders(self) -> list[str]:
        """Return the sorted names of its folders, without litter."""

    def files(self) -> list[str]:
        """Return the sorted names of all other entries, without litter."""

    def into(self, name: str) -> Place:
        """Return a folder in it. Raise SubmissionError if it cannot be opened."""

    def file(self, name: str) -> BinaryIO:
        """Return a regular file, open for reading.

        Raise FileNotFoundError if there is none of that name, or SubmissionError.
        """

    def read(self, name: str, limit: int) -> bytes:
        """Read at most `limit` bytes of a regular file. Raise SubmissionError if that fails."""

    def modified(self, name: str) -> tuple[int, ...]:
        """Return when a file was last changed, year to second, or () if that is unknown."""


class Folder:
    """An open folder. If the system has descriptors for folders, all access goes through one."""

    def __init__(self, path: Path, descriptor: int | None, most: int = MAX_NAMES) -> None:
        self.path = path
        self.descriptor = descriptor
        self.most = most
        self.inner: list[Folder] = []

    @classmethod
    def open(cls, path: Path, most: int = MAX_NAMES) -> Folder:
        """Open the folder at the user's own path, following links.

        most: how many names it may hold. Raise SubmissionError if it cannot be opened.
        """
        if os.open not in os.supports_dir_fd:
            return cls(path, None, most)
        try:
            return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY), most)
        except (OSError, ValueError) as error:
            raise SubmissionError(f"{path} cannot be opened: {_why(error)}") from error

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close_inner(self) -> None:
        """Close everything that was opened through this folder."""
        while self.inner:
            self.inner.pop().close()

    def close(self) -> None:
        """Close this folder and everything that was opened through it."""
        self.close_inner()
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _stat(self, name: str) -> os.stat_result:
        if self.descriptor is None:
            return (self.path / name).lstat()
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def _names(self) -> list[tuple[str, bool]]:
        try:
            with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
                found = [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in islice(entries, self.most + 1)
                ]
        except OSError as error:
            raise SubmissionError(f"it cannot be listed: {_why(error)}") from error
        if len(found) > self.most:
            raise SubmissionError(f"it holds more than {self.most:,} files")
        return sorted((name, is_folder) for name, is_folder in found if not litter(name))

    def kind(self, name: str) -> str:
        """Return `folder`, `file`, `link`, or `other` (a pipe, a device, a missing file)."""
        try:
            mode = self._stat(name).st_mode
        except (OSError, ValueError):
            return "other"
        kinds = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
        return kinds.get(stat.S_IFMT(mode), "other")

    def folders(self) -> list[str]:
        return [name for name, is_folder in self._names() if is_folder]

    def files(self) -> list[str]:
        return [name for name, is_folder in self._names() if not is_folder]

    def into(self, name: str) -> Folder:
        try:
            inner = Folder(self.path / name, self._descend(name))
        except (OSError, ValueError) as error:
            raise SubmissionError(f"it cannot be opened: {_why(error)}") from error
        self.inner.append(inner)
        return inner

    def _descend(self, name: str) -> int | None:
        if not stat.S_ISDIR(self._stat(name).st_mode):
            raise SubmissionError("it is a link or not a folder")
        if self.descriptor is None:
            return None
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)

    def file(self, name: str) -> BinaryIO:
        """Return a regular file, open for reading.

        Raise FileNotFoundError if there is none of that name.
        """
        try:
            descriptor = self._open(name)
        except FileNotFoundError:
            raise
        except PermissionError as error:
            raise SubmissionError(f"it cannot be opened: {_why(error)}") from error
        except OSError as error:  # a link, a socket, a device that is not there
            raise SubmissionError("it is not a regular file") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)  # os.fdopen would fail for a folder, and leave it open
            raise SubmissionError("it is not a regular file")
        return os.fdopen(descriptor, "rb")

    def _open(self, name: str) -> int:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        if self.descriptor is not None:
            return os.open(name, flags, dir_fd=self.descriptor)
        if not stat.S_ISREG(self._stat(name).st_mode):
            raise SubmissionError("it is not a regular file")
        return os.open(self.path / name, flags | getattr(os, "O_BINARY", 0))

    def read(self, name: str, limit: int) -> bytes:
        try:
            with self.file(name) as file:
                return file.read(limit)
        except FileNotFoundError as error:
            raise SubmissionError("it is not there") from error
        except OSError as error:
            raise SubmissionError(f"it cannot be read: {_why(error)}") from error

    def modified(self, name: str) -> tuple[int, ...]:
        try:
            return moment(self._stat(name).st_mtime)
        except (OSError, ValueError):
            return ()


class Some:
    """Some files of a folder, each under another name.

    For example `step02_scores.py`, for a file that a platform has called
    `doejohn_12345_678901_step02_scores.py`.
    """

    def __init__(self, folder: Place, names: Mapping[str, str]) -> None:
        self.folder = folder
        self.names = names

    def folders(self) -> list[str]:
        return []

    def files(self) -> list[str]:
        return sorted(self.names)

    def into(self, name: str) -> Place:
        raise SubmissionError(f"there is no folder {name}")

    def file(self, name: str) -> BinaryIO:
        """Return a regular file, open for reading."""
        return self.folder.file(self.names[name])

    def read(self, name: str, limit: int) -> bytes:
        return self.folder.read(self.names[name], limit)

    def modified(self, name: str) -> tuple[int, ...]:
        return self.folder.modified(self.names[name])


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "that is not a file name"
