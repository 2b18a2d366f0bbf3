"""Read the files in a zip in place: nothing is ever unpacked.

Names are compared, never used as paths. Data is streamed up to a limit, whatever sizes the archive
claims. The whole archive is refused if it is too large, has more members than a submission may
have, names a place outside itself, lets members overlap, or is damaged.
"""

from __future__ import annotations

import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast
from zoneinfo import ZoneInfo

from grader.intake.folders import SubmissionError, litter
from grader.report.names import show_name

MAX_ARCHIVE = 200 * 2**20
MAX_MEMBERS = 20_000
MAX_DIRECTORY = 4 * 2**20
MAX_DEPTH = 20
MAX_ZIP, MAX_FILES, MAX_TABLE = 8 * 2**30, 400_000, 128 * 2**20  # the same of a class's zip
MAX_RATIO = 200
"""Of a file's size to what it takes in the archive. Code and notebooks are far below."""

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,
)
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_OUTSIDE = re.compile(r"/|[A-Za-z]:|(.*/)?\.\.(/|$)", re.DOTALL)
_DIVIDED = re.compile(r"[\x00-\x7f]\\")
HALF = "\N{FULLWIDTH REVERSE SOLIDUS}"  # for a backslash that is half of a letter
_SAYS_UTF8 = 1 << 11  # in a member's flags
_CONTROL = re.compile(r"[\0-\x1f\x7f]")


class _Bounded:
    """A file that is never read in large pieces, however large a directory an archive claims."""

    def __init__(self, file: BinaryIO, table: int) -> None:
        self.file = file
        self.table = table
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self.table:
            raise SubmissionError("its table of contents is too long")
        return self.file.read(self.table if size < 0 else size)


def _read_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name, which many programs write as UTF-8 without saying so.

    Others use the code page of Windows in the West, which zipfile takes for the one of DOS.
    """
    if info.flag_bits & _SAYS_UTF8:
        return info.filename
    with suppress(UnicodeEncodeError):
        written = info.filename.encode("cp437")
        with suppress(UnicodeDecodeError):
            return written.decode("utf-8")
        return written.decode("cp850")  # letters of 437 are the same there, and it has more
    return info.filename


def _read_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the members' names.

    Backslashes divide folders if no name has a slash, and one is after a plain letter. Otherwise
    they are halves of letters of East Asia.
    """
    names = [_read_name(info) for info in infos]
    divides = "/" not in "".join(names) and any(map(_DIVIDED.search, names))
    return [name.replace("\\", "/" if divides else HALF) for name in names]


def in_utc(time: tuple[int, ...], zone: ZoneInfo | None) -> tuple[int, ...]:
    """Return a time of a zip, year to second in the zone of its writer, in UTC.

    Without a zone it is taken as UTC. A time that does not exist stays as it is.

    >>> in_utc((2026, 11, 23, 23, 30, 0), ZoneInfo("Europe/Berlin"))
    (2026, 11, 23, 22, 30, 0)
    """
    if zone is None:
        return time
    try:
        year, month, day, hour, minute, second = time
        there = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
        return tuple(there.astimezone(timezone.utc).timetuple()[:6])
    except (ValueError, OverflowError):
        return time


def _refuse_overlaps(infos: Sequence[zipfile.ZipInfo], end: int) -> None:
    """Refuse members that share bytes: overlaps let a small archive unpack into a huge one."""
    offsets = sorted((info.header_offset, info.compress_size) for info in infos)
    for (offset, size), (following, _) in pairwise([*offsets, (end, 0)]):
        if offset < 0 or offset + 30 + size > following:
            raise SubmissionError("its members overlap")


def _reason(info: zipfile.ZipInfo) -> str:
    """Return why a member cannot be read, or "" if it can."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "it is not a regular file"
    if info.flag_bits & 1:
        return "it is encrypted"
    if info.compress_type not in _METHODS:
        return "it is compressed in a way that few programs know"
    if info.file_size > 100_000 and info.file_size > MAX_RATIO * max(1, info.compress_size):
        return f"it unpacks to more than {MAX_RATIO:,} times its size"
    return ""


@dataclass
class _Node:
    """A folder in a zip: its folders, and the members for each file name."""

    folders: dict[str, _Node] = field(default_factory=dict)
    files: dict[str, list[zipfile.ZipInfo]] = field(default_factory=dict)


class Archive:
    """A zip, or a folder in a zip, as a place with files.

    path: where it is. zone: that of the times in a class's zip, or None for UTC. changed: when a
    student's own zip was last changed; None in a class's zip.
    """

    def __init__(
        self,
        zipped: zipfile.ZipFile,
        node: _Node,
        path: Path = Path(),
        zone: ZoneInfo | None = None,
        changed: tuple[int, ...] | None = None,
    ) -> None:
        self.zipped = zipped
        self.node = node
        self.path = path
        self.zone = zone
        self.changed = changed

    @classmethod
    def open(cls, file: BinaryIO, changed: tuple[int, ...] = ()) -> Archive:
        """Open a student's archive in a file that the caller closes.

        Raise SubmissionError if that fails.
        """
        refused: dict[str, str] = {}
        zipped = _open(file, MAX_MEMBERS, MAX_ARCHIVE, MAX_DIRECTORY)
        node = _grow(zipped, refused)
        for name in refused:
            raise SubmissionError(
                f"it has a member with a path that is not allowed, {show_name(name)!r}"
            )
        return cls(zipped, node, changed=changed)

    @classmethod
    def open_class(
        cls, path: Path, file: BinaryIO, zone: ZoneInfo | None
    ) -> tuple[Archive, dict[str, str]]:
        """Open a class's archive, and return which members it does not have, with the reasons.

        Raise SubmissionError if that fails.
        """
        ignored: dict[str, str] = {}
        zipped = _open(file, MAX_FILES, MAX_ZIP, MAX_TABLE)
        return cls(zipped, _grow(zipped, ignored), path, zone), ignored

    def folders(self) -> list[str]:
        return sorted(self.node.folders)

    def files(self) -> list[str]:
        return sorted(self.node.files.keys() - self.node.folders.keys())

    def kind(self, name: str) -> str:
        """Return `folder`, `file` or, for any other name, `other`."""
        if name in self.node.folders:
            return "folder"
        return "file" if name in self.node.files else "other"

    def into(self, name: str) -> Archive:
        node = self.node.folders.get(name) or _Node()
        return Archive(self.zipped, node, self.path / name, self.zone, self.changed)

    def close_inner(self) -> None:
        """Do nothing: a folder in a zip takes nothing from the system."""

    def _member(self, name: str) -> zipfile.ZipInfo:
        infos = self.node.files.get(name, [])
        if len(infos) != 1:
            raise SubmissionError("the archive has it twice" if infos else "it is not there")
        if reason := _reason(infos[0]):
            raise SubmissionError(reason)
        return infos[0]

    def file(self, name: str) -> BinaryIO:
        copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  # the caller closes it
        try:
            for piece in self._pieces(name, MAX_ARCHIVE + 1):
                copy.write(piece)
        except (SubmissionError, OSError):
            copy.close()
            raise
        return copy

    def read(self, name: str, limit: int) -> bytes:
        return b"".join(self._pieces(name, limit))

    def _pieces(self, name: str, limit: int) -> Iterator[bytes]:
        """Yield a member's bytes, up to a limit."""
        try:
            with self.zipped.open(self._member(name)) as member:
                while limit > 0 and (piece := member.read(min(limit, 2**20))):
                    limit -= len(piece)
                    yield piece
        except NotImplementedError as error:
            raise SubmissionError("it needs a newer program to be unpacked") from error
        except BROKEN as error:
            raise SubmissionError("the archive is damaged there") from error

    def modified(self, name: str) -> tuple[int, ...]:
        times = [tuple(info.date_time) for info in self.node.files.get(name, [])]
        return in_utc(max(times, default=()), self.zone)


def _open(file: BinaryIO, most: int, size: int, table: int) -> zipfile.ZipFile:
    """Return the zip. size, table: the largest size in bytes of it and of its directory."""
    if file.seek(0, 2) > size:
        raise SubmissionError(f"it is larger than {size // 2**20} MiB")
    try:
        zipped = zipfile.ZipFile(cast(BinaryIO, _Bounded(file, table)))
    except NotImplementedError as error:
        raise SubmissionError("it needs a newer program to be unpacked") from error
    except BROKEN as error:
        raise SubmissionError("it is not a zip archive, or it is damaged") from error
    infos = zipped.infolist()
    if len(infos) > most:
        raise SubmissionError(f"it holds more than {most:,} files")
    _refuse_overlaps(infos, zipped.start_dir)
    return zipped


def _grow(zipped: zipfile.ZipFile, refused: dict[str, str]) -> _Node:
    """Return the tree of a zip's members. refused: receives those whose path is not allowed.

    Folders that are too deep are empty.
    """
    root = _Node()
    infos = zipped.infolist()
    for name, info in zip(_read_names(infos), infos, strict=True):
        parts = [part for part in name.split("/") if part not in ("", ".")]
        littered = any(map(litter, parts))  # macOS has a file `Icon` with a line end in its name
        if _OUTSIDE.match(name) or (_CONTROL.search(name) and not littered):
            refused[name] = "its path is not allowed"
            continue
        if not parts or littered or name.endswith("/"):
            continue
        node = root
        for part in parts[:-1][:MAX_DEPTH]:
            node = node.folders.setdefault(part, _Node())
        if len(parts) <= MAX_DEPTH:
            node.files.setdefault(parts[-1], []).append(info)
    return root
