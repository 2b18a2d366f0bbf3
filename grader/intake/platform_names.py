"""Recognise the entries of a class folder by their names, and find their students.

A student is one entry: a folder, a zip or a notebook. Its name, without `.zip` or `.ipynb`, is the
id. Ids are compared exactly, so `Anna` and `anna` are two students. Several entries belong to one
student only if their names say so:

- `alice/`, `alice.zip` and `alice.ipynb` are one hand-in by alice.
- `alice_attempt_2.zip` (also `-attempt-2`, ` attempt 2`) is the second attempt of alice.
  `alice_2.zip` and `alice-2.zip` are separate students, because many ids look like that.
- `alice (1).zip`, a browser's name for a second download, belongs to alice if `alice.zip` is
  beside it. Otherwise it is a separate student.
- In both cases it is a separate student, too, if that whole name is an id on the instructor's own
  class list.
- If `alice/` has no step files, the folders and zips in it are her attempts if all are called
  `Attempt 1` or `Version 2`.
- A folder is a download from Moodle or Canvas if more than half of its students have such names,
  or half of them and none of the others is called like one of these. It is not from Canvas if all
  share the number that Canvas gives to a student. Nor is it if all are folders, or more than two
  archives, and share what would be a student's name, unless the class list has their numbers. In
  one from Canvas, Moodle's mark is part of a student's or a file's own name. In one from Moodle,
  numbers as Canvas has them are.
- Moodle: all entries `Full Name_12345_assignsubmission_file…` belong to one student, `Full
  Name_12345`. They are a folder, with or without a final `_`, or loose files. The same holds for
  `…_assignsubmission_onlinetext…`. In blind marking the name is `Participant`. A team's folder,
  `Team 1_assignsubmission_file`, has no number, or the team's number, as in `Team 1_12`.
- Canvas: all entries `doejohn_12345_678901_…`, with or without `LATE`, belong to one student,
  `doejohn_12345`. The same holds for `doejohn_12345_text.html`, a typed text, and `…_link.html`, an
  address. An anonymous student is `anon_aB3xY`. Names of students may end in numbers:
  `doejohn_12345_23456_678901_…` may belong to number 12345 or 23456. It is not read beside work
  with the first number that leaves no doubt, whatever name that has.
- Loose files from Moodle and Canvas are read as if they were in a folder of that student. Canvas
  renames files that are handed in again: there `step02_scores-1.py` is read as `step02_scores.py`.
  A file is not read if its own name has Moodle's `_assignsubmission_file` as well.
- nbgrader's `submitted/` has a folder for each student, and in it a folder for the assignment.
- Gradescope's export has a folder for each submission, `submission_1234`. Its list of names is not
  read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from grader.intake.filenames import NOTEBOOK, is_notebook, is_packed
from grader.report.names import show_name
from grader.report.records import Who

PLATFORMS = ("Canvas", "Moodle")
TEXT_ONLY = "text only"
READ = {"file": "", "onlinetext": f", {TEXT_ONLY}"}  # ways to hand in on Moodle
_ENDING = re.compile(r"(\.tar)?\.\w+$")
_ATTEMPT = re.compile(r"(.+?)[ _-]+attempt[ _-]*(\d{1,4})", re.IGNORECASE | re.DOTALL)
_COPY = re.compile(r"(.+?) ?\((\d{1,3})\)", re.DOTALL)
_NUMBER = re.compile(r"(?:attempt|version)[ _-]?(\d{1,4})", re.IGNORECASE)
_MARK = re.compile(r"(?<=.)_assignsubmission_([a-z]+)(?:_|$)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)_(\d+)", re.DOTALL)
# Where Canvas' numbers may be: a student's name may have some, as a file's own name may. The first
# group is the student's number. The second is the start of the file's own name.
_CANVAS = re.compile(r"_(?=(\d+)_(?:\d{5,}_(.)|(?:text|link)\.html\Z))", re.IGNORECASE | re.DOTALL)
# A student's name may hide where Canvas' numbers are, but has no capitals there.
_LATE = re.compile(r"_LATE_\d+_(?:\d{5,}_|(?:text|link)\.html$)")
_ANONYMOUS = re.compile(
    r"(late_)?(anon_[a-z0-9]{4,8})_(?:(\d{5,})_(.+)|(?:text|link)\.html)",
    re.IGNORECASE | re.DOTALL,
)
# Canvas adds `-1` to a name that it has already; in `step-2.py` the number is the step's.
_RENAMED = re.compile(
    r"\A(?!(?:(?:copy of|kopie von|copie de|copia d[ei]) |[ _-]*)step[ _-]*-\d+\.)"
    r"(.+)-\d+(\.py|\.ipynb|\.zip)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Attempt:
    """One attempt: a path below the class folder, or some loose files in that folder.

    number is the order that its name gives. files maps the names under which its files are read.
    """

    path: tuple[str, ...]
    number: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the attempt for a sentence."""
        return show_name("/".join(self.path) or ", ".join(sorted(self.files.values())))


@dataclass(frozen=True)
class Found:
    """One name in the class folder, and the student it belongs to. how: what kind of name it is.

    doubtful: whether it may be another student's.
    """

    student: str
    attempt: Attempt
    how: str
    who: Who = field(default_factory=Who)
    doubtful: bool = False


def stem(name: str) -> str:
    """Return the name without the ending of an archive or a notebook."""
    if is_notebook(name):
        return NOTEBOOK.sub(r"\1", name) or name
    if is_packed(name):
        return _ENDING.sub("", name) or name
    return name


def own_name(name: str, how: str) -> str:
    """Return the name of an entry by which its student may be on a class list."""
    return name if how == "folder" else stem(name)


def _canvas(name: str) -> tuple[Found, str] | None:
    """Return the student and file name of an entry from Canvas, or None for any other entry."""
    if match := _ANONYMOUS.fullmatch(name):
        early, student, _, rest = match.groups()
        number, doubtful = "", False
    elif places := [*_CANVAS.finditer(name)]:
        own, number = name[: places[0].start()], places[0][1]
        rest = name[places[0].start(2) :] if places[0][2] else ""
        early = own.lower().endswith("_late")
        student = f"{own[: -len('_late')] if early else own}_{number}"
        doubtful = len(places) > 1 or _has_moodle_mark(student)
    else:
        return None
    late = bool(early or _LATE.search(name))
    who = Who("Canvas", number, files=(name,), late=late)
    how = "Canvas" if rest else f"Canvas, {TEXT_ONLY}"
    return Found(student, Attempt((name,)), how, who, doubtful), rest


def _has_moodle_mark(student: str) -> bool:
    return _MARK.search(student) is not None


def _moodle(name: str, is_folder: bool) -> tuple[Found, str] | None:
    """Return the student and file name of an entry from Moodle, or None for any other entry.

    In a loose file's name a student chooses the text after Moodle's mark, so the first mark is
    Moodle's. In a folder's name it is the last one. A loose file with several marks belongs to
    nobody, because a student with such a name could hand in for another.
    """
    marks = [*_MARK.finditer(name)]
    mark = marks[-1 if is_folder else 0] if marks else None
    if mark is None or mark[1] not in READ:
        return None
    head, rest = name[: mark.start()], name[mark.end() :]
    numbered = _NUMBERED.fullmatch(head)
    own, number = numbered.groups() if numbered else (head, "")
    how = f"Moodle{READ[mark[1]]}"
    who = Who("Moodle", number, own, files=(name,))
    doubtful = len(marks) > 1 and not is_folder
    return Found(head, Attempt((name,)), how, who, doubtful), f"{rest}~" if doubtful else rest


def find_platform(
    folders: Collection[str],
    files: Collection[str],
    is_number: Callable[[str, str], bool] = lambda platform, number: False,
) -> str:
    """Return `Canvas` or `Moodle` if these are a bulk download from it; "" otherwise.

    Most students must have its names. Each counts once, because a student may have many files, and
    chooses parts of their names. The mark that comes first tells whose a file is. A student whose
    names have both platforms' marks counts for both. Other loose files are nobody's. Half of the
    students are enough if none of the others is called like one of them: the platform's own zip
    may be beside a single student's work.

    is_number: tells whether the class list has somebody with that number on a platform. Where it
    has, the names are not a scheme of the instructor's own.
    """
    students: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    canvas: dict[str, Found] = {}
    for name in (*folders, *files):
        found, mark = _canvas(name), _MARK.search(name)
        marks = {"Moodle"} if mark else set()
        if found:
            canvas[name] = found[0]
            marks.add("Canvas")
        if found and not (mark and _has_moodle_mark(found[0].student)):
            students["Canvas", found[0].student] |= marks
        elif mark:  # also work that students hand in there in another way
            students["Moodle", name[: mark.start()]] |= marks
        elif name in folders or is_notebook(name) or is_packed(name):
            how = "folder" if name in folders else "archive"
            students["", plain(name, (), how).student] |= marks
    counts = Counter(mark for marks in students.values() for mark in marks)
    first = Counter(mark for mark, _ in students)
    most = max(PLATFORMS, key=lambda platform: (counts[platform], first[platform]))
    if len(students) == 1 and len(canvas) == len(folders) + len(files):
        # The only student on Canvas may be called like a file of Moodle. On Canvas, no number can
        # stand before such a mark.
        ((kind, student),) = students
        most = "Canvas" if kind == "Moodle" and not _NUMBERED.fullmatch(student) else most
    if most == "Canvas" and not any(is_number("Canvas", one.who.number) for one in canvas.values()):
        most = "" if _is_own_scheme(canvas, folders) else most
    known = {student for mark, student in students if mark}
    others = {student for mark, student in students if not mark}
    more = 2 * counts[most] - len(students)
    return most if counts[most] and (more > 0 or (more == 0 and not known & others)) else ""


def _is_own_scheme(canvas: Mapping[str, Found], folders: Collection[str]) -> bool:
    """Return whether names only look like Canvas', as `ws26_101_12345678_abel` does.

    In such a scheme, a group or a date has the place of a student's number, and a course that of
    the name. On Canvas a student has one number, and there are loose files.
    """
    if any(not found.who.number for found in canvas.values()):
        return False
    sure = [found for found in canvas.values() if not found.doubtful]
    if len({found.who.number for found in sure}) == 1 < len({found.student for found in sure}):
        return True
    few = 1 if all(name in folders for name in canvas) else 2  # a student may have two zips
    whole = len(canvas) > few and all(name in folders or is_packed(name) for name in canvas)
    names = {found.student.removesuffix(f"_{found.who.number}") for found in canvas.values()}
    return whole and len(names) == 1


def read_platform(name: str, is_folder: bool, platform: str) -> Found | None:
    """Return the student of an entry in that platform's bulk download, or None.

    On one platform, a student may be called like an entry of the other.
    """
    known = None
    if platform:
        known = _canvas(name) if platform == "Canvas" else _moodle(name, is_folder)
    if known is None:
        return None
    found, rest = known
    if is_folder:
        return found
    own = rest or name
    loose = _RENAMED.sub(r"\1\2", own) if platform == "Canvas" else own
    return replace(found, attempt=Attempt((), files={loose: name}))


def plain(
    name: str,
    names: Collection[str],
    how: str,
    is_student: Callable[[str], bool] = lambda name: False,
) -> Found:
    """Return the student of any other folder, archive or notebook in the class folder."""
    base = own_name(name, how)
    match = _ATTEMPT.fullmatch(base)
    if match and not is_student(base):
        return Found(match[1], Attempt((name,), (int(match[2]),)), how)
    match = _COPY.fullmatch(base)
    if match and match[1] + name[len(base) :] in names and not is_student(base):
        return Found(match[1], Attempt((name,)), how)
    return Found(base, Attempt((name,)), how)


def number_attempts(names: Collection[str], folders: Collection[str]) -> dict[str, tuple[int, ...]]:
    """Return the order of the attempts in a student's folder; empty if they have other names.

    names: of the folders and archives in it.
    """
    numbers: dict[str, tuple[int, ...]] = {}
    for name in names:
        if match := _NUMBER.fullmatch(name if name in folders else stem(name)):
            numbers[name] = (int(match[1]),)
    return numbers if len(numbers) == len(names) else {}
