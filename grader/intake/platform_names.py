"""Recognise the entries of a class folder by their names, and find their students.

A student is one entry: a folder, a zip, a notebook. Its name, without `.zip` or `.ipynb`, is the
id, as it stands; ids are compared exactly, so `Anna` and `anna` are two students. Entries are put
together under one student only where they say so themselves:

- `alice/`, `alice.zip` and `alice.ipynb` are attempts of alice.
- `alice_attempt_2.zip` (also `-attempt-2`, ` attempt 2`) is the second attempt of alice.
  `alice_2.zip` and `alice-2.zip` are students of their own: many ids look like that.
- `alice (1).zip`, as browsers name a second download, is an attempt of alice if `alice.zip` lies
  beside it, and a student of its own if not.
- In `alice/`, where no step files lie, folders and zips that are all named by a number of up to
  three digits, with or without a word (`1`, `attempt_2`, `v3.zip`), or all by a date
  (`2026-03-01`, `20260301-101500`), or all alike but for a browser's ` (1)`, are her attempts.
- Moodle: all of `Full Name_12345_assignsubmission_file…` is one student, `Full Name_12345`, in a
  folder, with or without a last `_`, or loose files; so is `…_assignsubmission_onlinetext…`. In
  blind marking the name is `Participant`. A team's folder, `Team 1_assignsubmission_file`, has no
  number, or the team's own, which is not a student's: `Team 1_12`.
- Canvas: all of `doejohn_12345_678901_…`, with or without `LATE`, is one student, `doejohn_12345`,
  where more than half of the folder's entries are named like that. So is `doejohn_12345_text.html`,
  what was typed in, and `…_link.html`, an address. An anonymous student is `anon_aB3xY`.
  Moodle's mark behind Canvas' numbers is part of a file's own name.
- Moodle's and Canvas's loose files are read as if they lay in a folder of that student,
  `step02_scores-1.py` as `step02_scores.py`. One that has Moodle's `_assignsubmission_file` in its
  own name as well is not read.
- nbgrader's `submitted/` is a folder per student, each with a folder for the assignment.
- Gradescope's export is a folder per submission, `submission_1234`; its list of names is not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from grader.intake.handins import is_notebook, is_packed
from grader.report.names import show_name
from grader.report.records import Who

TEXT_ONLY = "text only"
_ENDING = re.compile(r"(\.tar)?\.\w+$")
_ATTEMPT = re.compile(r"(.+?)[ _-]+attempt[ _-]*(\d{1,4})", re.IGNORECASE | re.DOTALL)
_COPY = re.compile(r"(.+?) ?\((\d{1,3})\)", re.DOTALL)
_NUMBER = re.compile(r"(?:(?:attempt|try|version|v)[ _-]?)?(\d{1,3})", re.IGNORECASE)
_DATE = re.compile(r"\d{4}([-_.])\d\d\1\d\d(?:[T _.-]+\d\d(?:[-_.: ]?\d\d){1,2}\S{0,12})?")
_STAMP = re.compile(r"\d{8}[T_-]?\d{4}(?:\d\d)?Z?")
_MOODLE = re.compile(r"_assignsubmission_(file|onlinetext)(?:_|$)")
_NUMBERED = re.compile(r"(.+)_(\d+)", re.DOTALL)
_CANVAS = re.compile(
    r"(.+?)(?:_(late))?_(\d+)_(?:(\d{5,})_(.+)|(?:text|link)\.html)", re.IGNORECASE | re.DOTALL
)
_ANONYMOUS = re.compile(
    r"(late_)?(anon_[a-z0-9]{4,8})_(?:(\d{5,})_(.+)|(?:text|link)\.html)",
    re.IGNORECASE | re.DOTALL,
)
_RENAMED = re.compile(r"(.+)-\d+(\.py|\.ipynb|\.zip)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Attempt:
    """One hand-in: a path below the class folder, or some loose files in it.

    number is what its name says of its order; files maps the names that they are read under.
    """

    path: tuple[str, ...]
    number: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return what to call it in a sentence."""
        return show_name("/".join(self.path) or ", ".join(sorted(self.files.values())))


@dataclass(frozen=True)
class Found:
    """One name in the class folder, and whose it is. how: what kind of name it is."""

    student: str
    attempt: Attempt
    how: str
    who: Who = field(default_factory=Who)


def stem(name: str) -> str:
    """Return the name without the ending that makes it an archive or a notebook."""
    if is_notebook(name) or is_packed(name):
        return _ENDING.sub("", name) or name
    return name


def _canvas(name: str) -> tuple[Found, str] | None:
    """Return the student and file name of an entry from Canvas, or None for any other entry."""
    if match := _ANONYMOUS.fullmatch(name):
        late, student, _, rest = match.groups()
        number = ""
    elif match := _CANVAS.fullmatch(name):
        own, late, number, _, rest = match.groups()
        student = f"{own}_{number}"
    else:
        return None
    who = Who("Canvas", number, files=(name,), late=late is not None)
    how = "Canvas" if rest else f"Canvas, {TEXT_ONLY}"
    return Found(student, Attempt((name,)), how, who), rest


def is_canvas(names: Collection[str]) -> bool:
    """Return whether most of these are named as in a bulk download from Canvas."""
    return 2 * sum(_canvas(name) is not None for name in names) > len(names)


def _moodle(name: str, is_folder: bool) -> tuple[Found, str] | None:
    """Return the student and file name of an entry from Moodle, or None for any other entry.

    A student chooses what follows Moodle's mark in a loose file's name, so the first mark is
    Moodle's; in a folder's name it is the last one. A loose file with several belongs to
    nobody: a student with such a name could hand in for another.
    """
    marks = [*_MOODLE.finditer(name)]
    mark = marks[-1 if is_folder else 0] if marks else None
    if mark is None or not mark.start():
        return None
    head, rest = name[: mark.start()], name[mark.end() :]
    numbered = _NUMBERED.fullmatch(head)
    own, number = numbered.groups() if numbered else (head, "")
    how = "Moodle" if mark[1] == "file" else f"Moodle, {TEXT_ONLY}"
    who = Who("Moodle", number, own, files=(name,))
    return Found(head, Attempt((name,)), how, who), f"{rest}~" if len(marks) > 1 else rest


def platform(name: str, is_folder: bool, canvas: bool) -> Found | None:
    """Return the student of an entry in a platform's bulk download, or None."""
    by_canvas = _canvas(name) if canvas else None
    # A student chooses what follows a platform's own mark, so the first mark is the platform's.
    if by_canvas is not None and _MOODLE.search(by_canvas[0].student):
        by_canvas = None
    known = by_canvas or _moodle(name, is_folder)
    if known is None:
        return None
    found, rest = known
    if is_folder:
        return found
    loose = _RENAMED.sub(r"\1\2", rest or name)
    return replace(found, attempt=Attempt((), files={loose: name}))


def plain(name: str, names: Collection[str], how: str) -> Found:
    """Return the student of any other folder, archive or notebook in the class folder."""
    base = name if how == "folder" else stem(name)
    if match := _ATTEMPT.fullmatch(base):
        return Found(match[1], Attempt((name,), (int(match[2]),)), how)
    match = _COPY.fullmatch(base)
    if match and match[1] + name[len(base) :] in names:
        return Found(match[1], Attempt((name,), (int(match[2]),)), how)
    return Found(base, Attempt((name,)), how)


def _label(name: str, base: str) -> tuple[str, tuple[int, ...]]:
    """Return an attempt's common part of the name, and its order."""
    if match := _NUMBER.fullmatch(base):
        return "a number", (int(match[1]),)
    if _DATE.fullmatch(base) or _STAMP.fullmatch(base):
        return "a date", tuple(map(int, re.findall(r"\d", base)))
    match = _COPY.fullmatch(base)
    return f"called {match[1] if match else base}", (int(match[2]),) if match else ()


def number_attempts(names: Collection[str], folders: Collection[str]) -> dict[str, tuple[int, ...]]:
    """Return the order of the attempts in a student's folder; empty if they are named otherwise.

    names: of its folders and archives.
    """
    labels = {name: _label(name, name if name in folders else stem(name)) for name in names}
    alike = len({label for label, _ in labels.values()}) == 1
    return {name: number for name, (_, number) in labels.items()} if alike else {}
