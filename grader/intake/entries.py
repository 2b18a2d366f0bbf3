"""List a class's submissions: each student, the attempt that counts, and its contents.

`grader/intake/platform_names.py` has the rules for names, and for several entries of one student.
`grader/intake/handins.py` has the rules for the files in an entry.

If a platform numbers attempts, only those with the highest number count, even if they cannot be
read. Everything else that a student has handed in is one hand-in.

Files that systems and editors leave behind (hidden files, `__MACOSX`, `Thumbs.db`) are silently
ignored. Any other file that belongs to nobody is listed as ignored, with the reason. No link is
followed, except for the class folder itself.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from grader.intake.filenames import kind_of, stem, step_meant
from grader.intake.folders_and_zips import (
    MAX_ZIPS,
    Archive,
    File,
    Folder,
    Place,
    Spot,
    SubmissionError,
    Tree,
)
from grader.intake.handins import read_tree
from grader.intake.platform_names import (
    METADATA,
    WHOLE,
    Download,
    Found,
    find_download,
    name_submitters,
)
from grader.intake.submission import Submission
from grader.report.records import Who
from grader.report.sanitize import list_names, one_line
from grader.steps.registry import Registry

MAX_METADATA = 64 * 2**20  # bytes of Gradescope's list of submitters
ROOMS = ("exercises", "notebooks")  # as the kit calls a student's own folders
RESULTS = "gradebook.db"  # what marks a folder that grading has written


@dataclass(frozen=True)
class Entry:
    """A student and all that was handed in, by attempt; the last one counts."""

    student: str
    folder: Path | Archive
    found: Sequence[Found]
    who: Who = field(default_factory=Who)

    @property
    def attempts(self) -> int:
        """Return the number of attempts."""
        return len({one.number for one in self.found})

    @property
    def counting(self) -> list[Found]:
        """Return the parts of the last attempt."""
        return [one for one in self.found if one.number == self.found[-1].number]


@dataclass(frozen=True)
class Listing:
    """A class folder: an entry for each student, by id, and all other files, with the reason."""

    entries: tuple[Entry, ...]
    ignored: Mapping[str, str]


@contextmanager
def open_class(path: Path | Archive) -> Iterator[Place]:
    """Open a class folder for the block; a zip's is open already.

    Raise SubmissionError if it cannot be opened.
    """
    if isinstance(path, Archive):
        yield path
    elif path.is_dir():
        with Folder.open(path) as folder:
            yield folder
    else:
        raise SubmissionError(f"there is no folder {path}")


def open_class_zip(path: Path, until: ExitStack) -> Archive:
    """Return a class's zip, open as long as the stack is. Raise SubmissionError if that fails."""
    try:
        return Archive.open(until.enter_context(path.open("rb")), path)
    except (SubmissionError, OSError) as error:
        raise SubmissionError(f"{one_line(path.name, 80)} cannot be read: {error}") from None


def list_class(
    path: Path | Archive,
    out: Path | None = None,
    is_student: Callable[[str], bool] = lambda name: False,
    is_number: Callable[[str, str], bool] = lambda platform, number: False,
) -> Listing:
    """Return the contents of a class folder. Raise SubmissionError if it cannot be listed.

    out: the folder of the results. It belongs to nobody if it is in the class folder, as any other
    folder with a gradebook. is_student: tells whether a name is an id on the
    instructor's own class list, because a student may be called like an attempt of another.
    is_number: tells whether the class list has somebody with that number on a platform.
    """
    with open_class(path) as folder:
        ignored: dict[str, str] = {}
        students: defaultdict[str, list[Found]] = defaultdict(list)
        for one in _find_entries(folder, out, is_student, is_number, ignored):
            students[one.student].append(one)
    entries = []
    for student in sorted(students):
        theirs = students[student]
        names = tuple(name for one in theirs for name in one.who.files)
        who = replace(theirs[0].who, files=names, late=any(one.who.late for one in theirs))
        theirs.sort(key=lambda one: (one.number, one.name))
        entry = Entry(student, path, theirs, who)
        entries.append(replace(entry, who=replace(who, submitted=_find_hand_in_time(entry))))
    return Listing(tuple(entries), ignored)


def _find_entries(
    folder: Place,
    out: Path | None,
    is_student: Callable[[str], bool],
    is_number: Callable[[str, str], bool],
    ignored: dict[str, str],
) -> list[Found]:
    """Return the entries in the class folder. ignored: receives why others belong to nobody."""
    folders, files = folder.names()
    results = {n for n in folders if os.path.isfile(folder.path / n / RESULTS)}  # noqa: PTH113
    why = f"it holds {RESULTS}, which grading writes"
    ignored |= dict.fromkeys(results - {out.name if out else ""}, why)
    theirs = [name for name in folders if name not in results]
    download = find_download(theirs, files, is_number, folder.path.name)
    if any(is_student(stem(name)) for name in (*theirs, *files)):
        download = Download()
    found, folder_names = list[Found](), {*theirs}
    for name in (*theirs, *files):
        is_link = isinstance(folder, Folder) and folder.kind(name) == "link"
        # A link may be to a student's folder: reading it will say so.
        is_folder = name in folder_names or (is_link and kind_of(name) not in WHOLE)
        if known := download.read(name, is_folder):
            found.append(known)
        elif is_folder:
            found.append(Found(name, name))
        elif kind_of(name) in WHOLE:
            found.append(Found(stem(name), name, name))
        elif kind_of(name):
            ignored[name] = "a source file must be in a folder with the student's name"
        elif name != METADATA or download.platform != "Gradescope":
            ignored[name] = "it is neither a folder nor a zip nor a notebook"

    def read(name: str) -> str:
        return folder.read(name, MAX_METADATA).decode("utf-8-sig", "replace")

    return name_submitters(found, read)


def class_folder(
    path: Path | Archive, registry: Registry, is_student: Callable[[str], bool] = lambda name: False
) -> Path | Archive:
    """Return the folder that holds the students: the given one, or the only folder in it.

    The inner folder counts if a platform has named what is in it, or if it holds several folders
    and zips, or several notebooks. It does not if it is called by an id on the class list or by a
    platform, or if there are step files in it. The kit's own folders are not students. is_student:
    tells whether a name is an id on the instructor's own class list.
    """
    with suppress(SubmissionError), open_class(path) as outer:
        names, files = outer.names()
        alone = len(names) == 1 and not files and not is_student(names[0])
        if alone and not find_download(names, []).platform:
            inner = outer.into(names[0])
            if _is_class(inner, registry):
                return inner if isinstance(inner, Archive) else inner.path
    return path


def _is_class(inner: Place, registry: Registry) -> bool:
    """Return whether the only folder in a class folder is the class, not a student."""
    folders, files = inner.names()
    if find_download(folders, files, around=inner.path.name).platform:
        return True
    kinds = [*map(kind_of, files)]
    several = len({*folders} - {*ROOMS}) + kinds.count("archive") > 1 or kinds.count("notebook") > 1
    return several and not any(step_meant(name, registry) for name in files)


def alone(path: Path) -> Entry:
    """Return a single submission that is given by its own path: a folder, a zip or a notebook."""
    path = path.resolve()
    found = Found("", path.name, "" if path.is_dir() else path.name)
    return Entry(stem(path.name) if found.called else path.name, path.parent, [found])


def _find(entry: Entry, folder: Place, zips: int = MAX_ZIPS) -> Tree:
    """Return the files of the attempt that counts. zips: how many are opened."""
    tree, taken = Tree(zips), set[str]()
    for one in entry.counting:
        called = one.name if one.called in taken else one.called or one.name
        path = (called,) if taken else ()
        taken.add(called)
        if one.called:
            tree.add_file(File(Spot(folder), called, one.name), path)
        else:
            tree.add(Spot(folder.into(one.name), path))
    return tree


def _find_hand_in_time(entry: Entry) -> str:
    """Return when nbgrader noted that the work was handed in, as ISO 8601, or "" if unknown.

    In other platforms' downloads and in a zip, `timestamp.txt` is the student's own file. A time in
    another zone than UTC is returned as it is written.
    """
    with suppress(SubmissionError, OSError), open_class(entry.folder) as folder:
        for one in () if entry.who.platform else _find(entry, folder, 0).find_files():
            if one.name == "timestamp.txt" and len(one.path) <= 2:
                text = one.read(100).decode("ascii", "replace").strip()
                with suppress(ValueError):
                    found = datetime.fromisoformat(re.sub(r"\.\d+| UTC$|Z$", "", text))
                    return (
                        found if found.tzinfo else found.replace(tzinfo=timezone.utc)
                    ).isoformat()
                return text if text[:1].isdigit() else ""
    return ""


def read(entry: Entry, registry: Registry) -> Submission:
    """Return what counts of a student. Raise SubmissionError if it cannot be graded."""
    names = list_names([one_line(one.name, 80) for one in entry.counting])
    try:
        with open_class(entry.folder) as folder:
            submission = read_tree(entry.student, _find(entry, folder), registry)
    except (SubmissionError, OSError) as error:
        reason = str(error)
        if entry.attempts > 1:
            reason = f"of {entry.attempts} attempts the latest, {names}, counts: {reason}"
        raise SubmissionError(reason) from error
    if entry.attempts == 1:
        return submission
    counts = f"There are {entry.attempts} attempts; {names} counts, as the latest."
    return replace(submission, warnings=(counts, *submission.warnings))
