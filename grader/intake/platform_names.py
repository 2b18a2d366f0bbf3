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
- nbgrader's `submitted/` has a folder for each student, and in it a folder for the assignment.
- A folder is a platform's download if more than half of its students have the platform's names
  (`LAYOUTS`), or half of them and none of the others is called like one of these.
- Students choose the names of their files, and on some platforms their own. So the mark that comes
  first in a name tells whose it is, and a name in which it may be at two places is doubtful.
- Loose files from a platform are read as if they were in a folder of that student.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from grader.intake.filenames import NOTEBOOK, is_notebook, is_packed
from grader.report.names import show_name
from grader.report.records import Who

_ENDING = re.compile(r"(\.tar)?\.\w+$")
_ATTEMPT = re.compile(r"(.+?)[ _-]+attempt[ _-]*(\d{1,4})", re.IGNORECASE | re.DOTALL)
_COPY = re.compile(r"(.+?) ?\((\d{1,3})\)", re.DOTALL)
_NUMBER = re.compile(r"(?:attempt|version)[ _-]?(\d{1,4})", re.IGNORECASE)
TEXT_ONLY = "text only"
READ = {"file": "", "onlinetext": f", {TEXT_ONLY}"}  # ways to hand in on Moodle
METADATA = "submission_metadata.yml"  # in which Gradescope names the submitters
_MARK = re.compile(r"(?<=.)_assignsubmission_([a-z]+)(?:_|$)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)_(\d+)", re.DOTALL)
# Where Canvas' numbers may be: a student's name may have some, as a file's own name may. The first
# group is the student's number. The second is the start of the file's own name. A number of a file
# with less than five digits may be anything else, so it counts only in the name of a source.
_TYPED = r"(?:text|link)\.html\Z"
_CANVAS = re.compile(rf"_(?=(\d+)_(?:\d{{5,}}_(.)|{_TYPED}))", re.IGNORECASE | re.DOTALL)
_SHORT = re.compile(r"_(?=(\d+)_\d+_(.).*\.py\Z)", re.IGNORECASE | re.DOTALL)
# A student's name may hide where Canvas' numbers are, but has no capitals there.
_LATE = re.compile(rf"_LATE_\d+_(?:\d+_|{_TYPED})")
_ANONYMOUS = re.compile(
    rf"(late_)?(anon_[a-z0-9]{{4,8}})_(?:(\d+)_(.+)|{_TYPED})", re.IGNORECASE | re.DOTALL
)
# Canvas adds `-1` or a UUID to a name that it has already. In `step-2.py` the number is the step's.
_RENAMED = re.compile(
    r"\A(?!(?:(?:copy of|kopie von|copie de|copia d[ei]) |[ _-]*)step[ _-]*-\d+\.)"
    r"(.+)-(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\.py|\.ipynb|\.zip)",
    re.IGNORECASE | re.DOTALL,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


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


@dataclass(frozen=True)
class _Reading:
    """Hold what a name says. start: where the platform's mark begins. rest: the file's own name."""

    start: int
    found: Found
    rest: str


def _canvas(name: str) -> _Reading | None:
    if match := _ANONYMOUS.fullmatch(name):
        early, student, _, rest = match.groups()
        start, number, doubtful = 0, "", False
    elif places := [*_CANVAS.finditer(name)] or [*_SHORT.finditer(name)]:
        start = places[0].start()
        own, number = name[:start], places[0][1]
        rest = name[places[0].start(2) :] if places[0][2] else ""
        early = own.lower().endswith("_late")
        student = f"{own[: -len('_late')] if early else own}_{number}"
        doubtful = len(places) > 1 or _MARK.search(student) is not None
    else:
        return None
    late = bool(early or _LATE.search(name))
    who = Who("Canvas", number, files=(name,), late=late)
    how = "Canvas" if rest else f"Canvas, {TEXT_ONLY}"
    own = _RENAMED.sub(r"\1\2", rest) if rest else rest
    return _Reading(start, Found(student, Attempt((name,)), how, who, doubtful), own)


def _moodle(name: str, is_folder: bool) -> _Reading | None:
    """Return what a name from Moodle says.

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
    found = Found(head, Attempt((name,)), how, who, doubtful)
    return _Reading(marks[0].start(), found, f"{rest}~" if doubtful else rest)


# The platform, the id that is made of the fields, the name of an entry, and an example. A name with
# a <rest>, which is the file's own name, is a loose file's, as is one that ends in `.txt`. Another
# platform is another line.
_TABLE = """
Brightspace | {name}_{number} | <number>-<n> - <name> - <when>  | 1-2 - Ann Lee - Mar 4, 2026 926 PM
Brightspace | {name}_{number} | <number>-<n> - <name> - <when> - <rest> | \
1-2 - Ann Lee - Mar 4, 2026 926 PM - x.py
Blackboard  | {login}  | <login>_attempt_<time>_<rest> | Lab 1_alee_attempt_2026-03-04-21-26-10_x.py
Blackboard  | {login}  | <login>_attempt_<time>.txt    | Lab 1_alee_attempt_2026-03-04-21-26-10.txt
Sakai       | {login}  | <last>, <first>(<login>)      | Lee, Ann(alee)
Sakai       | {login}  | <last>, <first>(<login>)_<word>_<rest> | Lee, Ann(alee)_Attachment(s)_x.py
Autolab     | {email}  | <email>_<time>_<rest>         | alee@x.edu_3_x.py
PrairieLearn | {email} | <email>_<rest>                | alee@x.edu_x.py
Gradescope  | submission_{time} | submission_<time>    | submission_33417
ILIAS       | {last}_{first}_{login}_{number} | <last>_<first>_<login>_<number> | Lee_Ann_alee_48213
ILIAS       | {last}_{first}_{login}_{number} | <late> - <last>_<first>_<login>_<number> | \
Late - Lee_Ann_alee_48213
GitHub      | {user}   | <user>                        | lab1-alee
Google Classroom | {name} | <name> - <rest>            | Ann Lee - x.py
"""
_FIELDS = {
    **{"number": r"\d+", "n": r"\d+", "time": r"\d+(?:-\d+)*", "name": ".+?", "rest": ".+"},
    **{"when": r"[^\W\d]+\.? \d{1,2}, \d{4} \d{3,4}(?: ?[AP]M)?", "login": r".+?", "word": "[^_]*"},
    **{"last": r"[^,()_]+", "first": r"[^()_]*[^()_ ]", "late": "[^_]+", "user": ".+"},
    "email": r"[^@\s]+@[^@\s_]+\.[^@\s_]+",
}
WEAK = ("Gradescope", "ILIAS", "GitHub", "Google Classroom")  # others have such names, too
TITLE_ENDS = {"Blackboard": "_", "GitHub": "-"}  # where all names begin with the assignment's title


@dataclass(frozen=True)
class _Layout:
    """Hold a line of the table."""

    platform: str
    id: str
    name: str
    example: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces = re.split(r"<(\w+)>", self.name)
        fields = [f"(?P<{one}>{_FIELDS[one]})" for one in pieces[1::2]]
        texts = [*map(re.escape, pieces[::2])]
        return re.compile("".join(itertools.chain(*zip(texts, [*fields, ""]))), re.DOTALL)

    def read(self, name: str, is_folder: bool) -> _Reading | None:
        """Return what the name of an entry says; None if it is not such a name."""
        is_file = "<rest>" in self.name or self.name.endswith(".txt")
        name = _COPY.sub(r"\1", name) if self.platform == "ILIAS" else name
        match = self._pattern.fullmatch(name) if is_file is not is_folder else None
        if match is None:
            return None
        groups = match.groupdict()
        own = groups.get("name") or f"{groups.get('first', '')} {groups.get('last', '')}".strip()
        number = groups.get("number") or groups.get("user") or ""
        email, login = groups.get("email") or "", groups.get("login") or ""
        who = Who(self.platform, number, own, email, late="late" in groups, login=login)
        attempt = Attempt((), _order(groups.get("when") or groups.get("time") or ""))
        found = Found(self.id.format(**groups), attempt, self.platform, who)
        start = match.end("login") if self.name.startswith("<login>") else 0
        return _Reading(start, found, groups.get("rest", ""))


def _order(text: str) -> tuple[int, ...]:
    """Return the order of an attempt by its number or time, such as `Mar 4, 2026 926 PM`."""
    match = re.fullmatch(r"(\w{3})\w*\.? (\d+), (\d{4}) (\d{1,2})(\d\d) ?([AP]?)M?", text)
    if match is None:
        return tuple(map(int, re.findall(r"\d{1,18}", text)))
    month, day, year, hour, minute, half = match.groups()
    number = _MONTHS.index(month.lower()) + 1 if month.lower() in _MONTHS else 0
    hours = int(hour) % 12 + 12 * (half == "P") if half else int(hour)
    return (int(year), number, int(day), hours, int(minute))


LAYOUTS = [
    _Layout(*(cell.strip() for cell in line.split(" | "))) for line in _TABLE.strip().splitlines()
]
PLATFORMS = tuple(dict.fromkeys(("Canvas", "Moodle", *(one.platform for one in LAYOUTS))))
STRONG = tuple(platform for platform in PLATFORMS if platform not in WEAK)


def _read(platform: str, name: str, is_folder: bool) -> _Reading | None:
    """Return what a name says if it is that platform's."""
    if platform == "Canvas":
        return _canvas(name)
    if platform == "Moodle":
        return _moodle(name, is_folder)
    lines = (one for one in LAYOUTS if one.platform == platform)
    return next((found for one in lines if (found := one.read(name, is_folder))), None)


def find_platform(
    folders: Collection[str],
    files: Collection[str],
    is_number: Callable[[str, str], bool] = lambda platform, number: False,
    around: str = "",
) -> str:
    """Return the platform of a bulk download, such as `Moodle`; "" for any other folder.

    Where all names begin with the assignment's title, it follows, as in `Blackboard Lab 1_`. Most
    students must have the platform's names. Each counts once, because a student may have many
    files, and chooses parts of their names. The mark that comes first tells whose a file is. A
    student whose names have several platforms' marks counts for all of them. Other loose files are
    nobody's. Half of the students are enough if none of the others is called like one of them: the
    platform's own zip may be beside a single student's work.

    is_number: tells whether the class list has somebody with that number on a platform. Where it
    has, the names are not a scheme of the instructor's own. around: the name of the folder.
    """
    students: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    canvas: dict[str, Found] = {}
    for name in (*folders, *files):
        is_folder = name in folders
        read = {one: found for one in STRONG if (found := _read(one, name, is_folder))}
        mark = _MARK.search(name)
        if "Canvas" in read:
            canvas[name] = read["Canvas"].found
        starts = {platform: reading.start for platform, reading in read.items()}
        if mark:  # also work that students hand in there in another way
            starts["Moodle"] = mark.start()
        if starts:
            first = min(starts, key=lambda platform: starts[platform])
            student = read[first].found.student if first in read else name[: starts[first]]
            student = name[: starts[first]] if first == "Moodle" else student
            students[first, student] |= {*starts}
        elif is_folder or is_notebook(name) or is_packed(name):
            how = "folder" if is_folder else "archive"
            students["", plain(name, (), how).student] |= set()
    counts = Counter(mark for marks in students.values() for mark in marks)
    first_of = Counter(mark for mark, _ in students)
    most = max(PLATFORMS, key=lambda platform: (counts[platform], first_of[platform]))
    if most == "Canvas" and not any(is_number("Canvas", one.who.number) for one in canvas.values()):
        most = "" if _is_own_scheme(canvas, folders) else most
    known = {student for mark, student in students if mark}
    others = {student for mark, student in students if not mark}
    more = 2 * counts[most] - len(students)
    if counts[most] and (more > 0 or (more == 0 and not known & others)):
        heads = [student for mark, student in students if mark == most]
        return f"{most} {_find_title(heads, most, is_number)}" if most in TITLE_ENDS else most
    return _find_weak(folders, files, is_number, around)


def _find_weak(
    folders: Collection[str],
    files: Collection[str],
    is_number: Callable[[str, str], bool],
    around: str,
) -> str:
    """Return a platform whose names others have as well, if something else tells that it is one."""
    if METADATA in files and any(_read("Gradescope", name, True) for name in folders):
        return "Gradescope"
    read = [_read("ILIAS", name, True) for name in folders]
    numbers = {one.found.who.number for one in read if one}
    if read and all(read) and any(is_number("ILIAS", number) for number in numbers):
        return "ILIAS"
    title = _find_title(folders, "GitHub", is_number)
    logins = [name[len(title) :] for name in folders]
    known = sum(is_number("GitHub", login) for login in logins)
    if title and (2 * known > len(logins) or around == f"{title}submissions"):
        return f"GitHub {title}"
    sources = [name for name in files if name.lower().endswith(".py")]
    loose = [_read("Google Classroom", name, False) for name in sources]
    return "Google Classroom" if loose and all(loose) and not folders else ""


def _find_title(
    names: Collection[str], platform: str, is_number: Callable[[str, str], bool]
) -> str:
    """Return the title with which all names begin, with the character that ends it.

    The class list tells where it ends if the logins begin alike, too.
    """
    first, last = min(names, default=""), max(names, default="")
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last))
    ends = [at for at, (letter, _) in enumerate(alike, 1) if letter == TITLE_ENDS[platform]]
    known = {end: sum(is_number(platform, name[end:]) for name in names) for end in ends}
    return first[: max(known, key=lambda end: (known[end], end), default=0)]


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

    platform: as `find_platform` returns it. On one platform, a student may be called like an entry
    of another.
    """
    kind = next((one for one in PLATFORMS if f"{platform} ".startswith(f"{one} ")), "")
    title = platform[len(kind) + 1 :]
    if not kind or not name.startswith(title):
        return None
    reading = _read(kind, name[len(title) :], is_folder)
    if reading is None:
        return None
    found = replace(reading.found, who=replace(reading.found.who, files=(name,)))
    if is_folder:
        return replace(found, attempt=replace(found.attempt, path=(name,)))
    loose = reading.rest or name
    return replace(found, attempt=Attempt((), found.attempt.number, {loose: name}))


def name_submitters(found: Sequence[Found], metadata: str) -> list[Found]:
    """Return Gradescope's submissions with their students, as its metadata names them.

    A submission of several or of nobody keeps its number for an id. The file is YAML of one form;
    a line in another form tells nothing.
    """
    people: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    submission, is_list = "", False
    for line in metadata.splitlines():
        if match := re.fullmatch(r"(submission_\d+):\s*", line):
            submission, is_list = match[1], False
        elif match := re.fullmatch(r" {2}:(\w+):.*", line):
            is_list = match[1] == "submitters"
        elif is_list and (match := re.fullmatch(r" {2}(- |  ):(name|sid|email):\s*(.*)", line)):
            if match[1] == "- ":
                people[submission].append({})
            if people[submission]:
                people[submission][-1][match[2]] = _scalar(match[3])
    return [_submitted(one, people.get(one.student, [])) for one in found]


def _scalar(text: str) -> str:
    """Return the text of a YAML scalar on one line; "" for one that is not plain or quoted."""
    text = text.strip()
    if match := re.fullmatch(r"'((?:[^']|'')*)'", text):
        return match[1].replace("''", "'")
    if match := re.fullmatch(r'"((?:[^"\\]|\\.)*)"', text):
        with suppress(ValueError):
            return str(json.loads(text))
        return ""
    return "" if text[:1] in "|>&*!{[" or text in ("null", "~") else text


def _submitted(found: Found, people: Sequence[Mapping[str, str]]) -> Found:
    if len(people) != 1:
        return found
    name, sid, email = (people[0].get(key, "") for key in ("name", "sid", "email"))
    who = replace(found.who, name=name, email=email, login=sid)
    return replace(found, student=sid or email or found.student, who=who)


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
