"""Collect from nbgrader's exchange: copy what students put there, and follow no link.

In the exchange on a shared machine, students make their folders themselves. nbgrader's own copy
follows links with the instructor's rights. So a link to the solutions would be handed in as the
solutions. It also stops at the first folder that cannot be copied.
"""

import contextlib
import secrets
import shutil
from datetime import MAXYEAR, MINYEAR, datetime
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns, parse_utc

from grader.intake.folders_and_zips import Folder, SubmissionError
from grader.report.sanitize import one_line

MAX_DEPTH = 20
BLOCK = 10_000  # bytes that each file and folder counts as, beside its content
TIME, SECRET = "timestamp.txt", "submission_secret.txt"  # which nbgrader's `submit` adds
MAX_TIME = 100  # bytes; reading a longer text takes the time of its length squared
MAX_SECRET = 1000
FIRST, ODD = "=+-@.", '<>"\\%#&`*?[,'
NO_ID = f"its name must not begin with any of {' '.join(FIRST)}, or hold a line end or any of "
NO_ID += " ".join(ODD)
NOT_TAKEN = "it is a link, or not a regular file with a printable name"


def is_id(name: str) -> bool:
    """Return whether nbgrader can have a student with that id.

    It writes ids as they are: into the formgrader's pages and links, where `<` begins a script;
    into patterns, where `*` stands for all others; and into its table of grades, where a comma ends
    a cell. A line end in a name ends `autograde` for all.
    """
    return name.isprintable() and not {*name} & {*ODD} and name[:1] not in ("", *FIRST)


def read_time(text: str) -> datetime | None:
    """Return the time that nbgrader reads in a text, or None.

    One at the end of the calendar would end the formgrader's list of everybody's submissions.
    """
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        time: datetime = parse_utc(text.strip()[: MAX_TIME + 1])
        return time if len(text) <= MAX_TIME and MINYEAR < time.year < MAXYEAR else None
    return None


def read_note(folder: Path, name: str) -> bytes:
    """Return a file's content, up to a length; nothing if it is not a regular file."""
    try:
        with Folder.open(folder) as place:
            return place.read(name, MAX_SECRET + 1)
    except SubmissionError:
        return b""


def read_submitted_time(folder: str) -> datetime | None:
    """Return when a folder was handed in, or None if its note does not say so.

    nbgrader's own ends all grading at a note that holds no time.
    """
    return read_time(read_note(Path(folder), TIME).decode(errors="replace"))


class Collect(ExchangeCollect):  # type: ignore[misc]  # nbgrader has no types
    """Replaces nbgrader's own collector."""

    src_records: list[dict[str, Any]]
    coursedir: CourseDirectory
    left: int  # bytes that may still be copied

    def _path_to_record(self, path: str) -> Any:
        """Return what a folder's name says; without a time in it `collect` would end for all."""
        if read_time((Path(path).name.rsplit("+", 3) + [""] * 3)[2]) is None:
            return {"username": "", "filename": Path(path).name, "timestamp": datetime.min}
        return super()._path_to_record(path)

    def copy_files(self) -> None:
        """Collect everybody's submission, if it is under a name that a student can have."""
        for record in self.src_records:
            if not is_id(name := record["username"]):
                why = NO_ID if name else "its name holds no time"
                self.log.error("%s is not collected: %s.", one_line(record["filename"], 80), why)
        self.src_records = [one for one in self.src_records if is_id(one["username"])]
        self.coursedir.get_existing_timestamp = read_submitted_time
        super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission without its links; one that cannot be copied does not stop the rest.

        It gets its name when it is whole, because nbgrader collects nothing twice. nbgrader's own
        files are written anew: students may have spoiled them, and then `release_feedback` ends for
        everybody. The time is that in the folder's name, by which nbgrader chooses.
        """
        source, part = Path(src), Path(dest).with_name(f".{Path(dest).name}.new")
        shutil.rmtree(part, ignore_errors=True)  # what a killed run has left
        self.left = 1000 * self.coursedir.max_dir_size
        try:
            # Through descriptors, so that a file that becomes a link is not followed.
            with Folder.open(source.parent) as inbound, inbound.into(source.name) as one:
                self._copy_folder(one, part)
            (part / TIME).write_text(f"{read_time(source.name.rsplit('+', 3)[2])} UTC")
            secret = read_note(source, SECRET)
            is_usable = 0 < len(secret) <= MAX_SECRET and secret.isascii()
            (part / SECRET).write_bytes(secret if is_usable else secrets.token_hex(32).encode())
            if self.coursedir.groupshared:
                for path in (part, *part.rglob("*")):
                    path.chmod(path.stat().st_mode & 0o777 | (0o2770 if path.is_dir() else 0o660))
            part.rename(dest)
        except (OSError, ValueError, SubmissionError) as error:
            shutil.rmtree(part, ignore_errors=True)
            why = "it cannot be read" if isinstance(error, OSError) else str(error)
            self.log.error("%s is not collected: %s.", one_line(source.name, 80), why)

    def _copy_folder(self, folder: Folder, dest: Path, depth: int = 0) -> None:
        """Copy what is in a folder but nbgrader's own files. Raise ValueError if it is too much."""
        if depth > MAX_DEPTH:
            raise ValueError("its folders are nested too deeply")
        dest.mkdir()
        course = self.coursedir
        by_name = ignore_patterns(course.ignore, course.include, course.max_file_size, self.log)
        names = [name for some in folder.names() for name in some]
        ignored = by_name(str(folder.path), [name for name in names if name.isprintable()])
        for name in (name for name in names if name not in (*ignored, TIME, SECRET)):
            kind = folder.kind(name) if name.isprintable() else ""
            data = folder.read(name, self.left + 1) if kind == "file" else b""
            self.left -= BLOCK + len(data)
            if self.left < 0:
                most = f"{course.max_dir_size:,} kB"
                raise ValueError(f"it has more than {most}, or too many files and folders")
            if kind == "folder":
                with folder.into(name) as inner:
                    self._copy_folder(inner, dest / name, depth + 1)
            elif kind == "file":
                (dest / name).write_bytes(data)
            else:
                self.log.warning("%s is not copied: %s.", one_line(name, 80), NOT_TAKEN)
