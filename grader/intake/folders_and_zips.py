"""Find and read the files of a hand-in: up to four folders down, and in zips.

No link is followed, and no pipe is waited for. A zip is read in place: nothing is ever unpacked.
Names in it are compared, never used as paths. Data is read up to a limit, whatever sizes the
archive claims. The whole archive is refused if its directory is too large or damaged.

If a platform has numbered all folders in a folder (`Attempt 1`, `Version 2`), the last one counts.
"""

import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from grader.intake.filenames import kind_of
from grader.report.sanitize import one_line
from grader.steps.paths import ROOT

MAX_NAMES = 100_000
MAX_DOWN = 4
MAX_FILES = 20_000
MAX_FOLDERS = 200  # each is open while the hand-in is read
MAX_ZIPS = 10
MAX_ARCHIVE = 200 * 2**20
MAX_DIRECTORY, MAX_CLASS_DIRECTORY = 4 * 2**20, 128 * 2**20
MAX_DEPTH = 20
MAX_RATIO = 200  # of a file's size to what it takes in the archive; code is far below
# The kit's folders that nobody hands in.
KITS = ("solutions", "tests", "grader", "docs", "notebooks/nbgrader")
LITTER = frozenset({"__macosx", "__pycache__", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"})
IRREGULAR = "it is not a regular file"
# What zipfile raises for damaged archives.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(OSError, ValueError, LookupError, ArithmeticError, RuntimeError),
)
HALF = "\N{FULLWIDTH REVERSE SOLIDUS}"  # for a backslash that is half of a letter
Parts = tuple[str, ...]
_KINDS = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
_DIVIDED = re.compile(r"[\x00-\x7f]\\")
_NUMBERED = re.compile(r"(?:attempt|version)[ _-]?(\d{1,4})", re.IGNORECASE)
_Tree: TypeAlias = dict[str, "_Tree | zipfile.ZipInfo"]


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


class _Bounded:
    """A file that is never read in large pieces, however large a directory an archive claims."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file = file
        self.most = most
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self.most:
            raise SubmissionError("its table of contents is too long")
        return self.file.read(self.most if size < 0 else size)


def _read_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name, which many programs write as UTF-8 without saying so.

    Others use the code page of Windows in the West, which zipfile takes for the one of DOS.
    """
    if info.flag_bits & 1 << 11:  # it says that it is UTF-8
        return info.filename
    with suppress(UnicodeEncodeError):
        written = info.filename.encode("cp437")
        with suppress(UnicodeDecodeError):
            return written.decode("utf-8")
        return written.decode("cp850")  # letters of 437 are the same there, and it has more
    return info.filename


@dataclass(frozen=True, eq=False)
class Archive:
    """A zip, or a folder in a zip; its methods do what a folder's do.

    path: where it is.
    """

    zipped: zipfile.ZipFile
    tree: _Tree
    path: Path = Path()

    @classmethod
    def open(cls, file: BinaryIO, path: Path = Path()) -> "Archive":
        """Open an archive in a file that the caller closes. Raise SubmissionError if that fails.

        path: of a class's archive, which may be larger than a student's.
        """
        bounded = _Bounded(file, MAX_CLASS_DIRECTORY if path.name else MAX_DIRECTORY)
        try:
            zipped = zipfile.ZipFile(cast(BinaryIO, bounded))
        except BROKEN as error:
            raise SubmissionError("it is not a zip archive, or it is damaged") from error
        bounded.most = MAX_ARCHIVE + 1  # what is read at once
        return cls(zipped, _grow(zipped.infolist()), path)

    def names(self) -> tuple[list[str], list[str]]:
        folders = sorted(name for name, inner in self.tree.items() if isinstance(inner, dict))
        return folders, sorted(self.tree.keys() - {*folders})

    def into(self, name: str) -> "Archive":
        inner = self.tree.get(name)
        return replace(self, tree=inner if isinstance(inner, dict) else {}, path=self.path / name)

    def read(self, name: str, limit: int) -> bytes:
        info = self.tree.get(name)
        if not isinstance(info, zipfile.ZipInfo):
            raise SubmissionError("it is not there")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise SubmissionError(IRREGULAR)
        known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if info.flag_bits & 1 or info.compress_type not in known:
            raise SubmissionError("it is encrypted, or compressed in a way that few programs know")
        if info.file_size > 100_000 and info.file_size > MAX_RATIO * max(1, info.compress_size):
            raise SubmissionError(f"it unpacks to more than {MAX_RATIO:,} times its size")
        try:
            with self.zipped.open(info) as member:
                return member.read(limit)
        except BROKEN as error:
            raise SubmissionError("the archive is damaged there") from error


def _grow(infos: Sequence[zipfile.ZipInfo]) -> _Tree:
    """Return the tree of a zip's members; of two with one name it has the last, as if unpacked.

    `..` in a path means nothing. A path that is too deep is cut. Backslashes divide folders if no
    name has a slash, and one is after a plain letter. Otherwise they are halves of letters of East
    Asia.
    """
    root: _Tree = {}
    names = [_read_name(info) for info in infos]
    divides = "/" not in "".join(names) and any(map(_DIVIDED.search, names))
    for name, info in zip(names, infos, strict=True):
        path = name.replace("\\", "/" if divides else HALF)
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        if not parts or any(map(litter, parts)) or path.endswith("/"):
            continue
        node = root
        for part in parts[:-1][:MAX_DEPTH]:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        if not isinstance(node.get(parts[-1]), dict):  # a folder goes before a file
            node[parts[-1]] = info
    return root


Place = Folder | Archive


@dataclass(frozen=True)
class Spot:
    """A place in a hand-in, its path, and how many folders down it is."""

    place: Place
    path: Parts = ()
    down: int = 0


@dataclass(frozen=True)
class File:
    """A file of a hand-in. there: its name in its place, if that is another."""

    spot: Spot
    name: str
    there: str = ""

    @property
    def path(self) -> Parts:
        """Return its folders and its name."""
        return (*self.spot.path, self.name)

    @property
    def shown(self) -> str:
        """Return its path for a sentence."""
        return one_line("/".join(self.path), 80)

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


def _find_in_kit(path: Parts, folders: Sequence[str]) -> Path | None:
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
            latest = f"{one_line(folders[0], 80)} counts, as the latest"
            self.notes.append(f"There are {len(found)} attempts; {latest}.")
        self.waiting += [(spot, name) for name in folders]
        for name in files:
            self.add_file(File(spot, name), (*spot.path, name))

    def add_file(self, file: File, inside: Parts) -> None:
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
                    self.unread[f"{one_line('/'.join(path), 80)}/"] = str(error)
        return self.files
