"""A class as one zip, as Moodle and Canvas give it: its files, put into a folder of ours.

Only regular files of bounded size are written, under the names that they have in the zip. A name
that leads elsewhere refuses the whole zip.
"""

from __future__ import annotations

import calendar
import os
import time
from pathlib import Path
from typing import BinaryIO

from grader.intake.archives import BROKEN, Archive
from grader.intake.folders import SubmissionError
from grader.report.names import show_name

MAX_ZIP = 8 * 2**30
MAX_FILES = 400_000
MAX_TABLE = 128 * 2**20
MAX_FILE = 200 * 2**20
MAX_TOTAL = 16 * 2**30


def unpack(path: Path, folder: Path) -> None:
    """Write the files of a class's zip into an empty folder; SubmissionError with the reason."""
    try:
        with path.open("rb") as file:
            _unpack(file, folder)
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(path.name)} cannot be read: {error}") from None
    except OSError as error:
        raise SubmissionError(f"{error.filename}: {error.strerror}") from None


def _unpack(file: BinaryIO, folder: Path) -> None:
    archive = Archive.open(file, most=MAX_FILES, size=MAX_ZIP, table=MAX_TABLE)
    total = 0
    for parts, infos in archive.members.items():
        total += infos[-1].file_size
        if total > MAX_TOTAL:
            raise SubmissionError(f"it unpacks to more than {MAX_TOTAL // 2**30} GiB")
        target = folder.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.zipped.open(infos[-1]) as member, target.open("xb") as copy:
                left = MAX_FILE
                while piece := member.read(min(2**20, left + 1)):
                    left -= len(piece)
                    if left < 0:
                        raise SubmissionError(
                            f"{show_name('/'.join(parts))} is larger than {MAX_FILE // 2**20} MiB"
                        )
                    copy.write(piece)
            _date_entry(target, infos[-1].date_time)
        except FileExistsError:
            raise SubmissionError(f"it has {show_name('/'.join(parts))} twice") from None
        except (OSError, UnicodeEncodeError) as error:
            if isinstance(error, OSError) and error.filename is None:
                raise SubmissionError("it is damaged: download it again") from None
            raise SubmissionError(f"{show_name('/'.join(parts))} cannot be written") from None
        except BROKEN:
            raise SubmissionError("it is damaged: download it again") from None


def _date_entry(path: Path, when: tuple[int, ...]) -> None:
    """Give a file the time that the zip says, taken as UTC."""
    try:
        seconds = calendar.timegm((*when, 0, 0, 0))
    except (ValueError, OverflowError):
        seconds = int(time.time())
    os.utime(path, (seconds, seconds))
