"""List a class's submissions: each student, the attempt that counts, and its contents.

`grader/intake/platform_names.py` has the rules for names, and for several entries of one student.
`grader/intake/handins.py` has the rules for the place of step files in an entry.

Only the latest attempt counts, even if it cannot be read. It is the one with the highest number or
date in its name; a name without either comes first. If up to ten are equal, the one with the newest
file counts. The time of a file is that in its zip, taken as UTC, or else that of the file. Where a
zip has no times, the time of the zip counts. If these are equal too, the last name counts.

Files that systems and editors leave behind (hidden files, `__MACOSX`, `Thumbs.db`) are silently
ignored. Any other file that belongs to nobody is listed as ignored, with the reason. No link is
followed, except for the class folder itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from grader.intake import handins, notebooks, platform_names
from grader.intake.archives import Archive, in_utc
from grader.intake.filenames import find_original, name_of_original, step_meant
from grader.intake.folders import Folder, Place, Some, SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK
from grader.intake.notebooks import Room
from grader.intake.platform_names import TEXT_ONLY, Attempt, Found
from grader.intake.submission import Submission
from grader.report.records import Who
from grader.steps.registry import Registry

MAX_CLASS = 100_000
MAX_ATTEMPTS = 100  # of a student
MAX_LOOKED_AT = 40  # notebooks, to find out whether they are a class
# Attempts or notebooks, to compare attempts whose names do not say which is the last.
MAX_OPENED = 10
MAX_COMPARED = 8 * 2**20  # bytes of a notebook, which is read once more if it counts
_NAMED_ZONE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ([A-Z]{2,5}|[+-]\d\d)")
_LONG_NUMBER = re.compile(r"\d{3,}")
NO_YEAR = (1980,)  # what a zip says of a file without a time
RESULTS = "gradebook.db"  # what marks a folder that grading has written
DOUBTFUL = "its name has Canvas' numbers twice, so it may be another student's"


@dataclass(frozen=True)
class Entry:
    """A student and all attempts; the last one counts. how: the rule that matched their names."""

    student: str
    folder: Path
    attempts: tuple[Attempt, ...]
    how: str
    who: Who = field(default_factory=Who)


@dataclass(frozen=True)
class Listing:
    """A class folder: an entry for each student, by id, and all other files, with the reason."""

    entries: tuple[Entry, ...]
    ignored: Mapping[str, str]


def _explain_ignored(name: str, registry: Registry) -> str:
    """Return why a file of the class folder belongs to nobody."""
    if handins.is_known(name, registry):
        return "a step file must be in a folder with the student's name"
    return "it is neither a folder nor a zip nor a notebook"


def _is_results(path: Path, out: Path | None) -> bool:
    """Return whether a folder is one that grading has written. out: the one that it writes now."""
    try:
        return (path / RESULTS).is_file() or (out is not None and path.samefile(out))
    except (OSError, ValueError):
        return False


def _find_entries(
    folder: Folder,
    registry: Registry,
    out: Path | None,
    is_student: Callable[[str], bool],
    is_number: Callable[[str, str], bool],
) -> tuple[list[Found], dict[str, str]]:
    """Find the student of each entry in the class folder; say why some entries belong to nobody."""
    folders, files = folder.folders(), folder.files()
    results = {name for name in folders if _is_results(folder.path / name, out)}
    kinds = dict.fromkeys(folders, "folder") | dict.fromkeys(files, "")
    platform = platform_names.find_platform(
        [name for name in folders if name not in results], files, is_number
    )
    found: list[Found] = []
    ignored: dict[str, str] = {}
    for name, how in kinds.items():
        if handins.is_notebook(name):
            how = how or "notebook"
        elif handins.is_packed(name):
            how = how or "archive"
        elif folder.kind(name) == "link":
            how = "folder"  # what it may lead to; reading it will refuse to follow
        known = platform_names.read_platform(name, how == "folder", platform)
        if known and not (how and is_student(platform_names.own_name(name, how))):
            found.append(known)
        elif name in results:
            if out is None or name != out.name:
                ignored[name] = f"it holds {RESULTS}, which grading writes"
        elif how:
            found.append(platform_names.plain(name, kinds, how, is_student))
        else:
            ignored[name] = _explain_ignored(name, registry)
    return found, ignored


def _inside(folder: Folder, found: Found, registry: Registry) -> list[Attempt]:
    """Return the attempts in a student's folder, or the folder itself if it is one."""
    whole = [found.attempt]
    if found.how in ("archive", "notebook") or found.attempt.number:
        return whole
    (name,) = found.attempt.path
    try:
        inner = folder.into(name)
        folders, files = inner.folders(), inner.files()
    except SubmissionError:
        return whole  # reading it will give the reason
    finally:
        folder.close_inner()
    names = folders + [file for file in files if handins.is_packed(file)]
    known = any(handins.is_known(file, registry) for file in files)
    if known or set(folders) & set(handins.ROOMS) or not 2 <= len(names) <= MAX_ATTEMPTS:
        return whole
    orders = platform_names.number_attempts(names, folders)
    attempts = [Attempt((name, below), order) for below, order in orders.items()]
    if not attempts or _lacks_steps(folder, attempts, registry):
        return whole
    return attempts


def _lacks_steps(folder: Folder, attempts: Sequence[Attempt], registry: Registry) -> bool:
    """Return whether the last attempt lacks steps that another one has.

    Then they may be parts of one hand-in, such as a folder for each step. Reading it asks for one
    place.
    """
    last = max(attempts, key=lambda each: each.number)
    if len(attempts) > MAX_LOOKED_AT:
        return False
    try:
        few = _FewFiles()
        held = {each.path: _list_steps(folder, each, registry, few) for each in attempts}
    except _TooManyError:
        return False  # to open them all would take long
    there = held.pop(last.path)
    return there is not None and any(steps and not steps <= there for steps in held.values())


class _TooManyError(Exception):
    """More files would be opened than is worth the time."""


class _FewFiles(ExitStack):
    """Opens at most MAX_OPENED zips and notebooks in all, however deep they are in folders.

    room: what the notebooks share.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left = MAX_OPENED
        self.room = Room()

    def count(self) -> None:
        """Note that one more is opened. Raise _TooManyError if that is not worth the time."""
        self.left -= 1
        if self.left < 0:
            raise _TooManyError

    def enter_context(self, file: Any) -> Any:
        entered = super().enter_context(file)  # to be closed in any case
        self.count()
        return entered


def _list_steps(
    folder: Folder, attempt: Attempt, registry: Registry, few: _FewFiles
) -> set[str] | None:
    """Return the ids of the steps that an attempt has; None if that is not known."""
    try:
        with few:
            rooms = handins.home(_open(folder, attempt, few), registry, few)
            files = [(room, name) for room in rooms.values() for name in room.files()]
            held = [_find_steps(room, name, registry, few) for room, name in files]
    except (SubmissionError, OSError):
        return None
    finally:
        folder.close_inner()
    return set[str]().union(*held)


def _find_steps(room: Place, name: str, registry: Registry, few: _FewFiles) -> set[str]:
    """Return the ids of the steps that a file is called by, or that a notebook has written.

    Raise SubmissionError if that takes too long to find out.
    """
    packed = handins.is_notebook(name)
    step = step_meant(f"{platform_names.stem(name)}.py" if packed else name, registry)
    if step is not None or not packed:
        return {step.id} if step else set()
    few.count()
    written = notebooks.find_written(room.read(name, MAX_COMPARED), registry, few.room)
    return {registry.homes[name].id for name in written}


def _newest(
    folder: Folder,
    attempt: Attempt,
    registry: Registry,
    zipped: bool = False,
    zone: ZoneInfo | None = None,
) -> tuple[int, ...]:
    """Return the time of the newest file of an attempt, or () if it cannot be found.

    `make handin` writes no times into its zips, so there the time of the zip itself counts. zipped:
    whether only the files in the student's own zip count. zone: of the times in a zip, or None for
    UTC.
    """
    times: list[tuple[int, ...]] = []
    try:
        with ExitStack() as until:
            rooms = handins.home(_open(folder, attempt, until), registry, until)
            for room in rooms.values():
                if zipped and not isinstance(room, Archive):
                    continue
                found = [
                    room.modified(name) for name in room.files() if handins.is_known(name, registry)
                ]
                dated = [time for time in found if time[:1] > NO_YEAR]
                if isinstance(room, Archive):
                    dated = [in_utc(time, zone) for time in dated]
                    # The zip itself has the time of the instructor's download if zipped.
                    dated = dated or ([room.changed] if found and not zipped else [])
                times += dated
    except (SubmissionError, OSError):
        return ()
    finally:
        folder.close_inner()
    return max(times, default=())


def _order_attempts(
    folder: Folder, attempts: list[Attempt], registry: Registry
) -> tuple[Attempt, ...]:
    last = max((each.number for each in attempts), default=())  # only one of these counts
    tied = [attempt for attempt in attempts if attempt.number == last]
    opened = tied if 1 < len(tied) <= MAX_OPENED else []
    newest = {attempt.path: _newest(folder, attempt, registry) for attempt in opened}
    return tuple(
        sorted(attempts, key=lambda each: (each.number, newest.get(each.path, ()), each.path))
    )


def _entry(folder: Folder, student: str, found: Sequence[Found], registry: Registry) -> Entry:
    files = [each for each in found if TEXT_ONLY not in each.how] or found
    loose = _loose(files)
    attempts = [Attempt((), files=loose)] if loose else []
    for each in files:
        if not each.attempt.files:
            attempts += _inside(folder, each, registry)
    how = ", ".join(sorted({each.how for each in found}))
    names = tuple(name for each in found for name in each.who.files)
    who = replace(found[0].who, files=names, late=any(each.who.late for each in found))
    return Entry(student, folder.path, _order_attempts(folder, attempts, registry), how, who)


def _loose(files: Sequence[Found]) -> dict[str, str]:
    """Return the loose files in the class folder, by the names under which they are read.

    If two files would have the same name, the one later in the alphabet gets it. In Canvas'
    download that is the one with the higher number. The other file keeps its name in the download.
    """
    loose: dict[str, str] = {}
    for each in sorted(files, key=lambda each: _numbers(each.who.files)):
        for name, there in each.attempt.files.items():
            if name in loose:
                loose[loose[name]] = loose[name]
            loose[name] = there
    return loose


def _numbers(names: Sequence[str]) -> list[int]:
    """Return the numbers in a name, to compare names by `-1` and Canvas' own numbers."""
    return [int(number) for name in names for number in re.findall(r"\d{1,18}", name)]


def survey(
    path: Path,
    registry: Registry,
    out: Path | None = None,
    is_student: Callable[[str], bool] = lambda name: False,
    is_number: Callable[[str, str], bool] = lambda platform, number: False,
) -> Listing:
    """Return the contents of a class folder. Raise SubmissionError if it cannot be listed.

    out: the folder of the results, which belongs to nobody if it is in the class folder. The same
    holds for any other folder with a gradebook. is_student: tells whether a name is an id on the
    instructor's own class list, because a student may be called like an attempt of another.
    is_number: tells whether the class list has somebody with that number on a platform.
    """
    if not path.is_dir():
        raise SubmissionError(f"there is no folder {path}")
    with Folder.open(path, MAX_CLASS) as folder:
        found, ignored = _find_entries(folder, registry, out, is_student, is_number)
        found, doubtful = _drop_doubtful(found, registry)
        ignored |= doubtful
        students: dict[str, list[Found]] = {}
        for each in found:
            students.setdefault(each.student, []).append(each)
        entries = [
            _entry(folder, student, theirs, registry) for student, theirs in students.items()
        ]
    return Listing(tuple(sorted(entries, key=lambda entry: _bytes(entry.student))), ignored)


def _drop_doubtful(found: list[Found], registry: Registry) -> tuple[list[Found], dict[str, str]]:
    """Return the files to keep, and those that may be another student's, with the reason.

    Such a file is kept if no work surely has its number, because a file's own name may look so.
    """
    sure = {
        each.who.number
        for each in found
        if each.who.platform == "Canvas" and not each.doubtful and _may_be_work(each, registry)
    }
    kept: list[Found] = []
    ignored: dict[str, str] = {}
    for each in found:
        if each.doubtful and each.who.number in sure:
            ignored |= dict.fromkeys(each.who.files, DOUBTFUL)
        else:
            kept.append(each)
    return kept, ignored


def _may_be_work(found: Found, registry: Registry) -> bool:
    """Return whether it is a folder, or a file that could be read as work."""
    files = found.attempt.files
    return not files or any(handins.is_known(n, registry) or handins.is_packed(n) for n in files)


def _bytes(name: str) -> bytes:
    return os.fsencode(name) if os.name == "posix" else name.encode("utf-8", "surrogatepass")


def class_folder(
    path: Path, registry: Registry, is_student: Callable[[str], bool] = lambda name: False
) -> Path:
    """Return the folder that holds the students: the given one, or the only folder in it.

    The inner folder counts if its entries are named as by Canvas or Moodle or are on the class
    list, if at least two of its folders and zips hold work, or if two of its notebooks hold the
    same step. One student's folder has step files beside them, or they are attempts, or it is
    called by an id on the class list. Others may be called `exercises`, or by a number as long as
    those of students. is_student: tells whether a name is an id on the instructor's own class list,
    because such a name may be a file's.
    """
    try:
        with Folder.open(path, MAX_CLASS) as folder:
            folders, files = folder.folders(), folder.files()
        if len(folders) != 1 or files:
            return path
        (name,) = folders
        inner = path / name
        if (
            platform_names.find_platform([name], []) == "Moodle"
            or name in handins.ROOMS
            or is_student(name)
            or inner.is_symlink()
        ):
            return path
        with Folder.open(inner, MAX_CLASS) as folder:
            folders, files = folder.folders(), folder.files()
            if any(is_student(platform_names.stem(one)) for one in (*folders, *files)):
                return inner
            if platform_names.find_platform(folders, files):
                return inner
            if any(step_meant(name, registry) for name in files):
                return path
            names = [name for name in folders if name not in handins.ROOMS]
            names += [name for name in files if handins.is_packed(name)]
            work = [name for name in names if _holds_work(folder, name, registry)]
            if _share_a_step(
                folder, [name for name in files if handins.is_notebook(name)], registry
            ):
                return inner
        attempts = platform_names.number_attempts(work, folders)
        numbered = all(_LONG_NUMBER.fullmatch(platform_names.stem(name)) for name in work)
        return inner if len(work) > 1 and (numbered or not attempts) else path
    except SubmissionError:
        return path


def _share_a_step(folder: Folder, names: Sequence[str], registry: Registry) -> bool:
    """Return whether two of these notebooks hold the same step, and neither is the other's copy.

    Only the first ones are looked at, so that nobody can hold up the others for long.
    """
    steps: dict[str, set[str]] = {}  # by the names of the notebooks that hold some
    for name in names[:MAX_LOOKED_AT] if len(names) > 1 else ():
        stem = platform_names.stem(name)
        if any(step_meant(f"{one}.py", registry) for one in (stem, name_of_original(stem))):
            continue
        with suppress(SubmissionError, OSError):
            data = folder.read(name, MAX_NOTEBOOK + 1)
            # Each has a room of its own, so that no large one takes that of the others.
            written = notebooks.read(data, name, registry, Room()).written
            if held := {id for id, functions in written.items() if functions}:
                steps[stem] = held
    authors: dict[str, str] = {}  # of the steps
    for stem, held in steps.items():
        author = find_original(stem, steps)
        if any(authors.setdefault(id, author) != author for id in held):
            return True
    return False


def _holds_work(folder: Folder, name: str, registry: Registry) -> bool:
    try:
        with ExitStack() as until:
            return bool(handins.home(_open(folder, Attempt((name,)), until), registry, until))
    except (SubmissionError, OSError):
        return False
    finally:
        folder.close_inner()


def find_hand_in_time(
    entry: Entry, registry: Registry, files: bool, zone: ZoneInfo | None = None
) -> str:
    """Return when the attempt that counts was handed in, as ISO 8601, or "" if unknown.

    nbgrader writes it into `timestamp.txt`. In other platforms' downloads that file is the
    student's own, and all files have the time of the download, except those in a student's zip.
    files: whether the newest file's time may be used. zone: that of the times in a zip, which has
    none, and nbgrader's, if it is not set to UTC; a time in any other is returned as it is written.
    """
    attempt, platform = entry.attempts[-1], bool(entry.who.platform)
    try:
        with Folder.open(entry.folder) as folder:
            told = "" if platform else _timestamp(folder, attempt, zone)
            wanted = files and not told
            newest = _newest(folder, attempt, registry, platform, zone) if wanted else ()
    except (SubmissionError, OSError):
        return ""
    if told:
        return told
    if len(newest) < 6:
        return ""
    year, month, day, hour, minute, second = newest[:6]
    with suppress(ValueError):  # a zip may say that it was the 0th of a month
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
        return moment.isoformat()
    return ""


def _timestamp(folder: Folder, attempt: Attempt, zone: ZoneInfo | None) -> str:
    """Return the time that nbgrader has noted beside the notebooks."""
    if attempt.files or not attempt.path:
        return ""
    place = folder
    for name in attempt.path:
        if place.kind(name) != "folder":
            return ""
        place = place.into(name)
    for inside in ("", *place.folders()[:2]):
        room = place.into(inside) if inside else place
        if "timestamp.txt" in room.files():
            text = room.read("timestamp.txt", 100).decode("ascii", "replace").strip()
            with suppress(ValueError):
                found = datetime.fromisoformat(re.sub(r"\.\d+| UTC$|Z$", "", text))
                return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).isoformat()
            return _read_named(text, zone)
    return ""


def _read_named(text: str, zone: ZoneInfo | None) -> str:
    """Return a time with the name of its zone, such as `CET`; "" for any other text.

    Such a name may mean several zones, so it has to be one of the given zone's.
    """
    match = _NAMED_ZONE.fullmatch(text)
    if match is None:
        return ""
    with suppress(ValueError):
        for fold in (0, 1):  # the hour that a clock shows twice
            found = datetime.fromisoformat(match[1]).replace(tzinfo=zone, fold=fold)
            if found.tzname() == match[2]:
                return found.isoformat()
    return text


def entries(path: Path, registry: Registry) -> list[Entry]:
    """Return the students of a class folder, by id."""
    return list(survey(path, registry).entries)


def alone(path: Path) -> Entry:
    """Return a single submission that is given by its own path: a folder, a zip or a notebook."""
    path = path.resolve()
    is_folder = path.is_dir()
    student = path.name if is_folder else platform_names.stem(path.name)
    return Entry(student, path.parent, (Attempt((path.name,)),), "folder" if is_folder else "file")


def _open(folder: Folder, attempt: Attempt, until: ExitStack) -> Place:
    """Return the place of an attempt's files."""
    if attempt.files:
        return Some(folder, attempt.files)
    for name in attempt.path[:-1]:
        folder = folder.into(name)
    last = attempt.path[-1]
    kind = folder.kind(last)
    if kind == "folder":
        return folder.into(last)
    if kind != "file":
        what = "a link, which is not followed" if kind == "link" else "not a regular file"
        raise SubmissionError(f"it is {what}")
    if handins.is_notebook(last):
        return Some(folder, {last: last})
    return handins.open_zip(folder, last, until)


def read(entry: Entry, registry: Registry) -> Submission:
    """Return the attempt that counts.

    Raise SubmissionError with the reason if it cannot be graded.
    """
    attempt = entry.attempts[-1]
    with ExitStack() as until:
        folder = until.enter_context(Folder.open(entry.folder))
        try:
            place = _open(folder, attempt, until)
            submission = handins.submission(entry.student, place, registry)
        except SubmissionError as error:
            raise SubmissionError(_tell_attempt(entry, str(error))) from error
        except OSError as error:
            raise SubmissionError(
                _tell_attempt(entry, error.strerror or "the disk failed")
            ) from error
    if len(entry.attempts) == 1:
        return submission
    counts = f"There are {len(entry.attempts)} attempts; {attempt.name} counts, as the latest."
    return replace(submission, warnings=(counts, *submission.warnings))


def _tell_attempt(entry: Entry, reason: str) -> str:
    """Return the reason, with the attempt that it is about if there are several."""
    if len(entry.attempts) == 1:
        return reason
    return (
        f"of {len(entry.attempts)} attempts the latest, {entry.attempts[-1].name}, counts: {reason}"
    )
