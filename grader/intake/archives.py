"""Read the files in a zip in place: nothing is ever unpacked.

Names are compared, never used as paths. Data is streamed up to a limit, whatever sizes the archive
claims. The whole archive is refused if it is too large, has more members than a submission may
have, names a place outside itself, lets members overlap, or is damaged.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from io import BytesIO
from itertools import pairwise
from typing import BinaryIO, cast
from zoneinfo import ZoneInfo

from grader.intake.folders import SubmissionError, litter
from grader.report.names import show_name

MAX_ARCHIVE = 200 * 2**20
MAX_INNER = 32 * 2**20  # of an archive in an archive, which is held in memory
MAX_MEMBERS = 20_000
MAX_DIRECTORY = 4 * 2**20
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
HALF = "\N{FULLWIDTH REVERSE SOLIDUS}"  # in no other name that is read with code page 850
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


def _names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the members' names, which many programs write as UTF-8 without saying so.

    Others use a code page, which zipfile reads as 437: that of Windows in the West, or one of East
    Asia, where a backslash may be half of a letter. Backslashes divide folders if no name has a
    slash, and some name has a backslash after a plain letter. Otherwise, if some names are in a
    code page, a name with a backslash is too, even if its bytes could be UTF-8.
    """
    unsaid = {n: info.filename for n, info in enumerate(infos) if not info.flag_bits & _SAYS_UTF8}
    divides = "/" not in "".join(unsaid.values()) and any(map(_DIVIDED.search, unsaid.values()))
    names = [info.filename for info in infos]
    written: dict[int, bytes] = {}
    for number, name in unsaid.items():
        with suppress(UnicodeEncodeError):
            written[number] = name.encode("cp437")
    utf8 = {number: _decode_utf8(name) for number, name in written.items()}
    halves = not divides and None in utf8.values()
    for number, data in written.items():
        found = utf8[number]
        if found is None or (halves and "\\" in found):
            found = data.decode("cp850")  # letters of 437 are the same there, and it has more
            found = found if divides else found.replace("\\", HALF)
        names[number] = found
    return names


def _decode_utf8(written: bytes) -> str | None:
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _parts(name: str) -> tuple[str, ...]:
    """Return the member's path; some Windows programs write it with backslashes.

    macOS has a file `Icon` with a line end in its name, in each folder with an icon of its own.
    """
    name = name.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if _OUTSIDE.match(name) or (_CONTROL.search(name) and not any(map(litter, parts))):
        raise SubmissionError(
            f"it has a member with a path that is not allowed, {show_name(name)!r}"
        )
    return parts


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


class Archive:
    """A zip, or a folder in a zip, as a place with files.

    changed: when the zip itself was last changed, if that is known.
    """

    def __init__(
        self,
        zipped: zipfile.ZipFile,
        members: dict[tuple[str, ...], list[zipfile.ZipInfo]],
        changed: tuple[int, ...] = (),
    ) -> None:
        self.zipped = zipped
        self.members = members
        self.changed = changed

    @classmethod
    def open(
        cls,
        file: BinaryIO,
        most: int = MAX_MEMBERS,
        size: int = MAX_ARCHIVE,
        table: int = MAX_DIRECTORY,
        passed_over: dict[str, str] | None = None,
    ) -> Archive:
        """Open the archive in a file that the caller closes. Raise SubmissionError if that fails.

        most: how many members it may have. size, table: the largest size in bytes of the archive
        and of its directory. passed_over: receives the members whose path is not allowed, with the
        reason. Without it, such a member refuses the archive.
        """
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
        members: dict[tuple[str, ...], list[zipfile.ZipInfo]] = {}
        for name, info in zip(_names(infos), infos, strict=True):
            try:
                parts = _parts(name)
            except SubmissionError:
                if passed_over is None:
                    raise
                passed_over[name] = "its path is not allowed"
                continue
            if not any(map(litter, parts)) and not name.endswith(("/", "\\")):
                members.setdefault(parts, []).append(info)
        return cls(zipped, members)

    def folders(self) -> list[str]:
        return sorted({path[0] for path in self.members if len(path) > 1})

    def files(self) -> list[str]:
        return sorted(path[0] for path in self.members if len(path) == 1)

    def into(self, name: str) -> Archive:
        inner = {
            path[1:]: infos
            for path, infos in self.members.items()
            if len(path) > 1 and path[0] == name
        }
        return Archive(self.zipped, inner, self.changed)

    def file(self, name: str) -> BinaryIO:
        data = self.read(name, MAX_INNER + 1)
        if len(data) > MAX_INNER:
            raise SubmissionError(f"it is larger than {MAX_INNER // 2**20} MiB")
        return BytesIO(data)

    def read(self, name: str, limit: int) -> bytes:
        infos = self.members.get((name,), [])
        if len(infos) != 1:
            raise SubmissionError("the archive has it twice" if infos else "it is not there")
        if reason := _reason(infos[0]):
            raise SubmissionError(reason)
        try:
            with self.zipped.open(infos[0]) as member:
                return member.read(limit)
        except NotImplementedError as error:
            raise SubmissionError("it needs a newer program to be unpacked") from error
        except BROKEN as error:
            raise SubmissionError("the archive is damaged there") from error

    def modified(self, name: str) -> tuple[int, ...]:
        return max((tuple(info.date_time) for info in self.members.get((name,), [])), default=())
