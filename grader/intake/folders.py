"""Read a folder that somebody else made, without following links or waiting for pipes."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

MAX_NAMES = 100_000
LITTER = frozenset({"__macosx", "__pycache__", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"})
IRREGULAR = "it is not a regular file"
_KINDS = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}


class SubmissionError(Exception):
    """The submission, or one of its files, cannot be read; the text says why."""


def litter(name: str) -> bool:
    """Return whether a name is hidden, or is one that systems and editors leave behind."""
    return name.startswith((".", "~$")) or name.lower() in LITTER


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Raise SubmissionError in place of the system's errors. what: what failed."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "that is not a file name"
        raise SubmissionError(f"{what}: {why}") from error


class Folder:
    """An open folder. If the system has descriptors for folders, all access goes through one."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor
        self.inner: list[Folder] = []

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """Open the folder at the user's own path, following links.

        Raise SubmissionError if it cannot be opened.
        """
        if os.open not in os.supports_dir_fd:
            return cls(path, None)
        with _refusing(f"{path} cannot be opened"):
            return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        """Close this folder and everything that was opened through it."""
        while self.inner:
            self.inner.pop().__exit__()
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _at(self, name: str) -> Path | str:
        """Return a path from the descriptor, or from the current folder if there is none."""
        return self.path / name if self.descriptor is None else name

    def _open(self, name: str, *flags: str) -> int:
        """Return a descriptor. flags: names of those that not every system has."""
        known = [getattr(os, flag, 0) for flag in ("O_NOFOLLOW", *flags)]
        return os.open(self._at(name), os.O_RDONLY | sum(known), dir_fd=self.descriptor)

    def names(self) -> tuple[list[str], list[str]]:
        """Return the sorted names of its folders, and of all other entries, without litter.

        Raise SubmissionError if it cannot be listed.
        """
        with (
            _refusing("it cannot be listed"),
            os.scandir(self.path if self.descriptor is None else self.descriptor) as entries,
        ):
            found = list(islice(entries, MAX_NAMES + 1))
            if len(found) > MAX_NAMES:
                raise SubmissionError(f"it holds more than {MAX_NAMES:,} files")
            kept = sorted((one for one in found if not litter(one.name)), key=lambda one: one.name)
            folders = [one.name for one in kept if one.is_dir(follow_symlinks=False)]
            files = [one.name for one in kept if not one.is_dir(follow_symlinks=False)]
        return folders, files

    def kind(self, name: str) -> str:
        """Return `folder`, `file`, `link`, or `other` (a pipe, a device, a missing file)."""
        with suppress(OSError, ValueError):
            found = os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
            return _KINDS.get(stat.S_IFMT(found.st_mode), "other")
        return "other"

    def into(self, name: str) -> "Folder":
        """Return a folder in it. Raise SubmissionError if it cannot be opened."""
        if (kind := self.kind(name)) != "folder":
            what = "a link, which is not followed" if kind == "link" else "not a folder"
            raise SubmissionError(f"it is {what}")
        with _refusing("it cannot be opened"):
            opened = None if self.descriptor is None else self._open(name, "O_DIRECTORY")
            self.inner.append(Folder(self.path / name, opened))
        return self.inner[-1]

    def read(self, name: str, limit: int) -> bytes:
        """Read at most `limit` bytes of a regular file. Raise SubmissionError if that fails."""
        if self.kind(name) != "file":
            raise SubmissionError(IRREGULAR)
        with _refusing("it cannot be opened"):
            file = os.fdopen(self._open(name, "O_NONBLOCK", "O_BINARY"), "rb")
        with file, _refusing("it cannot be read"):
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SubmissionError(IRREGULAR)
            return file.read(limit)
