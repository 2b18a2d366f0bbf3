"""Unpack a class's zip from Moodle or Canvas into a folder of the kit.

Only regular files of bounded size are written, under their names in the zip. Students choose some
of these names, and the contents of the files. So a file that cannot be written is skipped, and the
others are still read:

- A file is written as an empty file of its size, which takes no space on the disk, if it is too
  large or its student has handed in too much. When it is read, its student learns why it is not
  graded.
- A name that is too long is shortened, so that its student is still listed. It is ignored if it
  would say something else of its student then.
- A name that leads out of the folder, or that another file has, is listed as ignored.
"""

from __future__ import annotations

import calendar
import errno
import os
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipInfo
from zoneinfo import ZoneInfo

from grader.intake.archives import BROKEN, Archive, in_utc
from grader.intake.folders import SubmissionError
from grader.intake.platform_names import (
    PLATFORMS,
    Attempt,
    Found,
    find_platform,
    read_platform,
)
from grader.report.names import show_name

MAX_ZIP = 8 * 2**30
MAX_FILES = 400_000
MAX_TABLE = 128 * 2**20
MAX_FILE = 200 * 2**20
MAX_ENTRY = 2**30  # of a student, however many files it is
MAX_TOTAL = 16 * 2**30
MAX_NAME = 240  # bytes; most file systems take 255
KEPT_END = 60  # bytes of a shortened name's end
Owner = tuple[str, bool]  # a student, and whether it may be another one


def unpack(path: Path, folder: Path, zone: ZoneInfo | None = None) -> dict[str, str]:
    """Write the files of a class's zip into an empty folder. Raise SubmissionError with the reason.

    Return the names of the files that were skipped, with the reasons. zone: of the times in the
    zip, or None for UTC.
    """
    try:
        with path.open("rb") as file:
            return _unpack(file, folder, zone)
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(path.name)} cannot be read: {error}") from None
    except OSError as error:
        raise SubmissionError(f"{error.filename}: {error.strerror}") from None


def _unpack(file: BinaryIO, folder: Path, zone: ZoneInfo | None) -> dict[str, str]:
    ignored: dict[str, str] = {}
    archive = Archive.open(file, most=MAX_FILES, size=MAX_ZIP, table=MAX_TABLE, passed_over=ignored)
    sizes: Counter[Owner] = Counter()
    depth, owners = _find_owners(archive.members)

    def order(member: tuple[tuple[str, ...], list[ZipInfo]]) -> tuple[bool, int]:
        """Put files that may be another student's last, so that small ones find room."""
        parts, infos = member
        return (True, infos[-1].file_size) if owners[parts[depth]][1] else (False, 0)

    for parts, infos in sorted(archive.members.items(), key=order):
        if any(_says_something_else(part, part is not parts[-1]) for part in parts):
            ignored["/".join(parts)] = "its name is too long to tell whose it is"
            continue
        try:
            target = folder.joinpath(*map(_shortened, parts))
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = target.open("xb")
        except (FileExistsError, NotADirectoryError):
            ignored["/".join(parts)] = "another file of the zip has that name"
            continue
        except (OSError, ValueError, RecursionError) as error:  # RecursionError: a very deep path
            if isinstance(error, OSError) and not _is_about_name(error):
                raise SubmissionError(f"{show_name('/'.join(parts))} cannot be written") from None
            ignored["/".join(parts)] = "that is not a file name here"
            continue
        if len(infos) > 1:
            ignored["/".join(parts)] = (
                f"the zip has {len(infos)} files of that name; the last is read"
            )
        owner = owners[parts[depth]]
        with copy:
            sizes[owner] += _write(archive, infos[-1], copy, MAX_ENTRY - sizes[owner])
        if sizes.total() > MAX_TOTAL:
            raise SubmissionError(f"it unpacks to more than {MAX_TOTAL // 2**30} GiB")
        _date_entry(target, in_utc(infos[-1].date_time, zone))
    return ignored


def _find_owners(members: Collection[tuple[str, ...]]) -> tuple[int, dict[str, Owner]]:
    """Return how deep in the zip the students' entries are, and whose each of them is.

    Each student has room for so many bytes. A file that may be another student's takes no room from
    that student. Nor does an entry whose name is not a platform's: only the class list tells
    whether it is an attempt of another student.
    """
    depth = int(len({parts[0] for parts in members}) == 1 and min(map(len, members)) > 1)
    folders = {parts[depth] for parts in members if len(parts) > depth + 1}
    files = {parts[depth] for parts in members} - folders
    platform = find_platform(folders, files)
    owners: dict[str, Owner] = {}
    for name in (*folders, *files):
        found = read_platform(name, name in folders, platform)
        owners[name] = (found.student, found.doubtful) if found else (f"{name}/", False)
    return depth, owners


def _is_about_name(error: OSError) -> bool:
    return error.errno in (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EISDIR)


def _shortened(name: str) -> str:
    """Return a name that file systems accept: the middle of a very long one is left out."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= MAX_NAME:
        return name
    start, end = data[: MAX_NAME - KEPT_END - 1], data[-KEPT_END:]
    return f"{start.decode('utf-8', 'ignore')}~{end.decode('utf-8', 'ignore')}"


def _says_something_else(name: str, is_folder: bool) -> bool:
    """Return whether a platform's name would say something else after it was shortened.

    Students choose the end of a loose file's name, and on some platforms their own names, so any
    part of a name could look like a platform's own mark.
    """
    short = _shortened(name)
    return short != name and any(
        _reading(short, is_folder, platform) != _reading(name, is_folder, platform)
        for platform in PLATFORMS
    )


def _reading(name: str, is_folder: bool, platform: str) -> Found | None:
    """Return what a name says, except for the names of the file and of a student with a number."""
    found = read_platform(name, is_folder, platform)
    if found is None:
        return None
    student, name = ("", "") if found.who.number else (found.student, found.who.name)
    who = replace(found.who, files=(), name=name)
    return replace(found, attempt=Attempt(()), who=who, student=student)


def _write(archive: Archive, info: ZipInfo, copy: BinaryIO, room: int) -> int:
    """Write a file and return its size; write one that is too large as empty, and return 0."""
    left = min(MAX_FILE, room)
    size = 0
    try:
        with archive.zipped.open(info) as member:
            while piece := member.read(min(2**20, max(0, left - size) + 1)):
                size += len(piece)
                if size > left:
                    copy.truncate(0)
                    copy.truncate(MAX_FILE + 1)
                    return 0
                copy.write(piece)
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise SubmissionError(f"the disk failed: {error.strerror}") from None
        raise SubmissionError("it is damaged: download it again") from None
    return size


def _date_entry(path: Path, when: tuple[int, ...]) -> None:
    """Give a file the time in the zip, in UTC."""
    try:
        seconds = calendar.timegm((*when, 0, 0, 0))
    except (ValueError, OverflowError):
        seconds = int(time.time())
    os.utime(path, (seconds, seconds))
