"""List a class's submissions: each student, the attempt that counts, and its contents.

`grader/intake/platform_names.py` has the rules for names, and for several entries of one student.
`grader/intake/handins.py` has the rules for the files in an entry.

If a platform numbers attempts, only those with the highest number count, even if they cannot be
read. Everything else that a student has handed in is one hand-in.

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
from zoneinfo import ZoneInfo

from grader.intake import handins, platform_names
from grader.intake.archives import Archive, in_utc
from grader.intake.filenames import is_notebook, is_packed, may_be_work, stem_of, step_meant
from grader.intake.folders import Folder, Place, Some, SubmissionError
from grader.intake.platform_names import TEXT_ONLY, EntryAttempt, Found, find_download
from grader.intake.search import open_zip
from grader.intake.submission import Submission
from grader.report.names import show_name
from grader.report.records import Who
from grader.steps.registry import Registry

ClassPlace = Folder | Archive
MAX_CLASS = 100_000
MAX_ATTEMPTS = 100  # of a student
MAX_METADATA = 64 * 2**20  # bytes of Gradescope's list of submitters
NO_YEAR = (1980,)  # what a zip says of a file without a time
ROOMS = ("exercises", "notebooks")  # as the kit calls a student's own folders
_PART = re.compile(r"(?:(?:attempt|version)[ _-]?|v)?\d{1,2}", re.IGNORECASE)
RESULTS = "gradebook.db"  # what marks a folder that grading has written


@dataclass(frozen=True)
class Entry:
    """A student and all attempts; the last one counts. how: the rule that matched their names."""

    student: str
    folder: Path | Archive
    attempts: tuple[EntryAttempt, ...]
    how: str
    who: Who = field(default_factory=Who)

    @property
    def counting(self) -> tuple[EntryAttempt, ...]:
        """Return the parts of the last attempt."""
        last = self.attempts[-1].number
        return tuple(attempt for attempt in self.attempts if attempt.number == last)


@dataclass(frozen=True)
class Listing:
    """A class folder: an entry for each student, by id, and all other files, with the reason."""

    entries: tuple[Entry, ...]
    ignored: Mapping[str, str]


def _explain_ignored(name: str) -> str:
    """Return why a file of the class folder belongs to nobody."""
    if stem_of(name):
        return "a source file must be in a folder with the student's name"
    return "it is neither a folder nor a zip nor a notebook"


def _is_results(path: Path, out: Path | None) -> bool:
    """Return whether a folder is one that grading has written. out: the one that it writes now."""
    try:
        return (path / RESULTS).is_file() or (out is not None and path.samefile(out))
    except (OSError, ValueError):
        return False


def open_class(path: Path | Archive, until: ExitStack) -> ClassPlace:
    """Return a class folder, open as long as the stack is; a zip's is open already.

    Raise SubmissionError if it cannot be opened.
    """
    if isinstance(path, Archive):
        return path
    if not path.is_dir():
        raise SubmissionError(f"there is no folder {path}")
    return until.enter_context(Folder.open(path, MAX_CLASS))


def open_class_zip(
    path: Path, zone: ZoneInfo | None, until: ExitStack
) -> tuple[Archive, dict[str, str]]:
    """Return a class's zip, open as long as the stack is, and its files that are ignored, and why.

    zone: of the times in it, or None for UTC. Raise SubmissionError if it cannot be read.
    """
    try:
        return Archive.open_class(path, until.enter_context(path.open("rb")), zone)
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(path.name)} cannot be read: {error}") from None
    except OSError as error:
        raise SubmissionError(f"{path}: {error.strerror}") from None


def _find_entries(
    folder: ClassPlace,
    out: Path | None,
    is_student: Callable[[str], bool],
    is_number: Callable[[str, str], bool],
) -> tuple[list[Found], dict[str, str]]:
    """Find the student of each entry in the class folder; say why some entries belong to nobody."""
    folders, files = folder.folders(), folder.files()
    results = {name for name in folders if _is_results(folder.path / name, out)}
    kinds = dict.fromkeys(folders, "folder") | {name: _kind(folder, name) for name in files}
    theirs = [name for name in folders if name not in results]
    download = find_download(theirs, files, is_number, folder.path.name)
    found: list[Found] = []
    ignored: dict[str, str] = {}
    for name, how in kinds.items():
        known = download.read(name, how == "folder")
        if known and not (how and is_student(platform_names.own_name(name, how))):
            found.append(known)
        elif name in results:
            if out is None or name != out.name:
                ignored[name] = f"it holds {RESULTS}, which grading writes"
        elif how:
            found.append(platform_names.plain(name, kinds, how, is_student))
        elif not (name == platform_names.METADATA and download.platform == "Gradescope"):
            ignored[name] = _explain_ignored(name)

    def read(name: str) -> str:
        return folder.read(name, MAX_METADATA).decode("utf-8-sig", "replace")

    return platform_names.name_submitters(found, read), ignored


def _kind(folder: ClassPlace, name: str) -> str:
    """Return what a file of the class folder is: a notebook, an archive, or "" for any other."""
    if is_notebook(name):
        return "notebook"
    if is_packed(name):
        return "archive"
    return "folder" if folder.kind(name) == "link" else ""  # reading it will refuse to follow


def _inside(folder: ClassPlace, found: Found) -> list[EntryAttempt]:
    """Return the attempts in a student's folder, or the folder itself if it has none."""
    whole = [found.attempt]
    if found.how in ("archive", "notebook") or found.attempt.number:
        return whole
    path = found.attempt.path
    try:
        inner = folder.into(path[0])
        folders, files = inner.folders(), inner.files()
        if len(folders) == 1 and not files:  # such as `Anna Abel/Lab 1/Version 2` from Teams
            path = (*path, folders[0])
            inner = inner.into(folders[0])
            folders, files = inner.folders(), inner.files()
    except SubmissionError:
        return whole  # reading it will give the reason
    finally:
        folder.close_inner()
    names = folders + [file for file in files if is_packed(file)]
    if len(names) > MAX_ATTEMPTS or any(may_be_work(f) and not is_packed(f) for f in files):
        return whole
    orders = platform_names.number_attempts(names, folders)
    return [EntryAttempt((*path, below), order) for below, order in orders.items()] or whole


def _entry(folder: ClassPlace, student: str, found: Sequence[Found]) -> Entry:
    files = [each for each in found if TEXT_ONLY not in each.how] or found
    last = max((each.attempt.number for each in files if each.attempt.files), default=())
    loose = _loose([each for each in files if each.attempt.number == last])
    attempts = [EntryAttempt((), last, loose)] if loose else []
    for each in files:
        if not each.attempt.files:
            attempts += _inside(folder, each)
    how = ", ".join(sorted({each.how for each in found}))
    names = tuple(name for each in found for name in each.who.files)
    who = replace(found[0].who, files=names, late=any(each.who.late for each in found))
    attempts.sort(key=lambda each: (each.number, each.path))
    where = folder if isinstance(folder, Archive) else folder.path
    return Entry(student, where, tuple(attempts), how, who)


def _loose(files: Sequence[Found]) -> dict[str, str]:
    """Return the loose files in the class folder, by the names under which they are read.

    If two files would have the same name, one keeps its name in the download.
    """
    loose: dict[str, str] = {}
    for each in files:
        for name, there in each.attempt.files.items():
            loose[there if name in loose else name] = there
    return loose


def survey(
    path: Path | Archive,
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
    students: dict[str, list[Found]] = {}
    with ExitStack() as until:
        folder = open_class(path, until)
        found, ignored = _find_entries(folder, out, is_student, is_number)
        for each in found:
            students.setdefault(each.student, []).append(each)
        entries = [_entry(folder, student, theirs) for student, theirs in students.items()]
    return Listing(tuple(sorted(entries, key=lambda entry: _bytes(entry.student))), ignored)


def _bytes(name: str) -> bytes:
    return os.fsencode(name) if os.name == "posix" else name.encode("utf-8", "surrogatepass")


def class_folder(
    path: Path | Archive, registry: Registry, is_student: Callable[[str], bool] = lambda name: False
) -> Path | Archive:
    """Return the folder that holds the students: the given one, or the only folder in it.

    The inner folder counts if a platform has named what is in it, if that is on the class list, or
    if it holds several folders and zips, or several notebooks. It does not if it is called by an id
    on the list or by a platform, or if there are step files in it. Numbers of one or two digits,
    attempts, and the kit's own folders are not students. is_student: tells whether a name is an id
    on the instructor's own class list.
    """
    with suppress(SubmissionError), ExitStack() as until:
        outer = open_class(path, until)
        names = outer.folders()
        if len(names) == 1 and not outer.files() and not is_student(names[0]):
            inner = outer.into(names[0])
            if not find_download(names, []).platform and _is_class(inner, registry, is_student):
                return inner if isinstance(inner, Archive) else inner.path
    return path


def _is_class(inner: ClassPlace, registry: Registry, is_student: Callable[[str], bool]) -> bool:
    """Return whether the only folder in a class folder is the class, not a student."""
    folders, files = inner.folders(), inner.files()
    if find_download(folders, files, around=inner.path.name).platform:
        return True
    if any(is_student(platform_names.stem(one)) for one in (*folders, *files)):
        return True
    if any(step_meant(name, registry) for name in files):
        return False
    places = [*(set(folders) - {*ROOMS}), *filter(is_packed, files)]
    students = [name for name in places if not _PART.fullmatch(platform_names.stem(name))]
    return len(students) > 1 or sum(map(is_notebook, files)) > 1


def find_hand_in_time(entry: Entry, files: bool, zone: ZoneInfo | None = None) -> str:
    """Return when the attempt that counts was handed in, as ISO 8601, or "" if unknown.

    nbgrader writes it into `timestamp.txt`. In other platforms' downloads that file is the
    student's own, and all files have the time of the download, except those in a student's zip.
    files: whether the newest file's time may be used. zone: that of the times in a zip, which has
    none. A time that nbgrader has noted in another zone than UTC is returned as it is written.
    """
    platform = bool(entry.who.platform)
    try:
        with ExitStack() as until:
            folder = open_class(entry.folder, until)
            told = "" if platform else _timestamp(folder, entry.attempts[-1])
            wanted = entry.counting if files and not told else ()
            places = [_open(folder, attempt, until) for attempt in wanted]
            newest = max((_newest(place, platform, zone) for place in places), default=())
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


def _newest(place: Place, zipped: bool, zone: ZoneInfo | None) -> tuple[int, ...]:
    """Return the time of the newest file of a place, or () if it cannot be found.

    `make handin` writes no times into its zips, so there the time of the zip itself counts. zipped:
    whether only the files in the student's own zip count. zone: of the times in a zip, or None for
    UTC.
    """
    times: list[tuple[int, ...]] = []
    for room, time in handins.find_times(place):
        if not (isinstance(room, Archive) and room.changed is not None):
            times += [] if zipped else [time]
        elif time[:1] > NO_YEAR:
            times.append(in_utc(time, zone))
        elif not zipped:  # else the zip has the time of the instructor's download
            times.append(room.changed)
    return max(times, default=())


def _timestamp(folder: ClassPlace, attempt: EntryAttempt) -> str:
    """Return the time that nbgrader has noted beside the notebooks; in another zone as it is."""
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
            return text if text[:1].isdigit() else ""
    return ""


def entries(path: Path) -> list[Entry]:
    """Return the students of a class folder, by id."""
    return list(survey(path).entries)


def alone(path: Path) -> Entry:
    """Return a single submission that is given by its own path: a folder, a zip or a notebook."""
    path = path.resolve()
    is_folder = path.is_dir()
    student = path.name if is_folder else platform_names.stem(path.name)
    return Entry(
        student, path.parent, (EntryAttempt((path.name,)),), "folder" if is_folder else "file"
    )


def _open(folder: ClassPlace, attempt: EntryAttempt, until: ExitStack) -> Place:
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
    if is_notebook(last):
        return Some(folder, {last: last})
    try:
        return open_zip(folder, last, until)
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(last)} cannot be read: {error}") from error


def read(entry: Entry, registry: Registry) -> Submission:
    """Return what counts of a student.

    Raise SubmissionError with the reason if it cannot be graded.
    """
    counting, earlier = entry.counting, len(entry.attempts) - len(entry.counting)
    names = ", ".join(attempt.name for attempt in counting)
    try:
        with ExitStack() as until:
            folder = open_class(entry.folder, until)
            first, *others = [
                ((), place) if isinstance(place, Some) else (attempt.path, place)
                for attempt in counting
                for place in [_open(folder, attempt, until)]
            ]
            submission = handins.submission(entry.student, first[1], registry, others)
    except (SubmissionError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = error.strerror or "the disk failed"
        if earlier:
            reason = f"of {len(entry.attempts)} attempts the latest, {names}, counts: {reason}"
        raise SubmissionError(reason) from error
    if not earlier:
        return submission
    counts = f"There are {len(entry.attempts)} attempts; {names} counts, as the latest."
    return replace(submission, warnings=(counts, *submission.warnings))
