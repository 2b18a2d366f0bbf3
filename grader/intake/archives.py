"""Read the files in a zip in place: nothing is ever unpacked.

Names are compared, never used as paths. Data is read up to a limit, whatever sizes the archive
claims. The whole archive is refused if its directory is too large or damaged.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from grader.intake.folders import IRREGULAR, Folder, SubmissionError, litter

MAX_ARCHIVE = 200 * 2**20
MAX_DIRECTORY, MAX_CLASS_DIRECTORY = 4 * 2**20, 128 * 2**20
MAX_DEPTH = 20
MAX_RATIO = 200
"""Of a file's size to what it takes in the archive. Code and notebooks are far below."""

# What zipfile raises for damaged archives.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(OSError, ValueError, LookupError, ArithmeticError, RuntimeError),
)
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DIVIDED = re.compile(r"[\x00-\x7f]\\")
HALF = "\N{FULLWIDTH REVERSE SOLIDUS}"  # for a backslash that is half of a letter
_SAYS_UTF8 = 1 << 11  # in a member's flags
_Tree: TypeAlias = dict[str, "_Tree | zipfile.ZipInfo"]


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
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
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
