"""Read the files in a zip in place: nothing is ever unpacked.

Names are compared, never used as paths. Data is read up to a limit, whatever sizes the archive
claims. The whole archive is refused if it is too large, has too many members, lets members overlap,
or is damaged. A member that names a place outside is not read.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, cast

from grader.intake.folders import IRREGULAR, Folder, SubmissionError, litter


class ZipLimits(NamedTuple):
    """The largest size in bytes of an archive and of its directory, and the most members."""

    size: int
    directory: int
    members: int


STUDENTS = ZipLimits(200 * 2**20, 4 * 2**20, 20_000)
CLASS = ZipLimits(8 * 2**30, 128 * 2**20, 400_000)
MAX_DEPTH = 20
MAX_RATIO = 200
"""Of a file's size to what it takes in the archive. Code and notebooks are far below."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError)
BROKEN = (*_DAMAGED, OSError, ValueError, LookupError, ArithmeticError, RuntimeError)
NO_YEAR = 1980  # what a zip says of a file without a time
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_OUTSIDE = re.compile(r"/|[A-Za-z]:|(.*/)?\.\.(/|$)", re.DOTALL)
_DIVIDED = re.compile(r"[\x00-\x7f]\\")
HALF = "\N{FULLWIDTH REVERSE SOLIDUS}"  # for a backslash that is half of a letter
_SAYS_UTF8 = 1 << 11  # in a member's flags
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_Tree: TypeAlias = dict[str, "_Tree | list[zipfile.ZipInfo]"]


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
        return IRREGULAR
    if info.flag_bits & 1 or info.compress_type not in _METHODS:
        return "it is encrypted, or compressed in a way that few programs know"
    if info.file_size > 100_000 and info.file_size > MAX_RATIO * max(1, info.compress_size):
        return f"it unpacks to more than {MAX_RATIO:,} times its size"
    return ""


@dataclass(frozen=True, eq=False)
class Archive(AbstractContextManager["Archive"]):
    """A zip, or a folder in a zip; its methods do what a folder's do.

    refused: the members that are not in it, and why. path: where it is. changed: when a student's
    own zip was last changed; None if that is unknown.
    """

    zipped: zipfile.ZipFile
    tree: _Tree
    refused: Mapping[str, str]
    path: Path = Path()
    changed: datetime | None = None

    @classmethod
    def open(
        cls, file: BinaryIO, limits: ZipLimits, path: Path = Path(), changed: datetime | None = None
    ) -> Archive:
        """Open an archive in a file that the caller closes. Raise SubmissionError if that fails."""
        if file.seek(0, 2) > limits.size:
            raise SubmissionError(f"it is larger than {limits.size // 2**20} MiB")
        bounded = _Bounded(file, limits.directory)
        try:
            zipped = zipfile.ZipFile(cast(BinaryIO, bounded))
        except BROKEN as error:
            raise SubmissionError("it is not a zip archive, or it is damaged") from error
        bounded.most, infos = limits.size, zipped.infolist()
        if len(infos) > limits.members:
            raise SubmissionError(f"it holds more than {limits.members:,} files")
        _refuse_overlaps(infos, zipped.start_dir)
        return cls(zipped, *_grow(infos), path, changed)

    def __exit__(self, *_: object) -> None:
        """Leave the archive open: its file is the caller's."""

    def names(self) -> tuple[list[str], list[str]]:
        folders = sorted(name for name, inner in self.tree.items() if isinstance(inner, dict))
        return folders, sorted(self.tree.keys() - {*folders})

    def into(self, name: str) -> Archive:
        inner = self.tree.get(name)
        tree = inner if isinstance(inner, dict) else {}
        return replace(self, tree=tree, path=self.path / name)

    def _members(self, name: str) -> list[zipfile.ZipInfo]:
        found = self.tree.get(name, [])
        return found if isinstance(found, list) else []

    def read(self, name: str, limit: int) -> bytes:
        infos = self._members(name)
        if len(infos) != 1:
            raise SubmissionError("the archive has it twice" if infos else "it is not there")
        if reason := _reason(infos[0]):
            raise SubmissionError(reason)
        try:
            with self.zipped.open(infos[0]) as member:
                return member.read(limit)
        except BROKEN as error:
            raise SubmissionError("the archive is damaged there") from error

    def modified(self, name: str) -> datetime | None:
        """Return when a member was last changed, without a zone; otherwise when its zip was."""
        if times := [info.date_time for info in self._members(name)]:
            year, month, day, hour, minute, second = max(times)
            with suppress(ValueError):  # a zip may say that it was the 0th of a month
                if year > NO_YEAR:
                    return datetime(year, month, day, hour, minute, min(second, 59))
        return self.changed


def _grow(infos: Sequence[zipfile.ZipInfo]) -> tuple[_Tree, dict[str, str]]:
    """Return the tree of a zip's members, and those whose path is not allowed.

    Folders that are too deep are empty.
    """
    root: _Tree = {}
    refused: dict[str, str] = {}
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
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        same = node.setdefault(parts[-1], []) if len(parts) <= MAX_DEPTH else None
        if isinstance(same, list):  # a folder of that name goes before the file
            same.append(info)
    return root, refused


Place = Folder | Archive
