"""Recognise the entries of a class folder by their names, and find their students.

A student is one entry: a folder, a zip or a notebook. Its name, without `.zip` or `.ipynb`, is the
id. Ids are compared exactly, so `Anna` and `anna` are two students. `alice/`, `alice.zip` and
`alice.ipynb` are one hand-in by alice.

A folder is a platform's download if the platform's names (`LAYOUTS`) fit more than half of its
entries, and none is an id on the class list. Students choose the names of their files, so the first
mark in a name is the platform's. Loose files are read as if they were in a folder of that student.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from grader.intake.filenames import kind_of
from grader.report.records import Who

METADATA = "submission_metadata.yml"  # in which Gradescope names the submitters
# The platform, the fields of the id, the name of an entry, and an example. `[` and `]` enclose what
# may be absent. A name with a <rest>, which is the file's own name, is a loose file's, as are
# <typed> and a name that ends in `.txt`. Another platform is another line.
_TABLE = """
Moodle | name number | <name>[_<number>]_assignsubmission_<kind>[_] | Ann_12_assignsubmission_file
Moodle | name number | <name>[_<number>]_assignsubmission_<kind>_<rest> | A_assignsubmission_file_x
Canvas | user number | <user>[_<mark>]_<number>_<file>_<rest> | leeann_LATE_12_9000001_x.py
Canvas | user number | <user>[_<mark>]_<number>_<typed> | leeann_12_text.html
Canvas | anon | [<mark>_]<anon>_<n>_<rest> | anon_aB3xY_9000001_x.py
Canvas | anon | [<mark>_]<anon>_<typed> | LATE_anon_aB3xY_link.html
Brightspace | name number | <number>-<n> - <name> - <when> | 1-2 - Ann Lee - Mar 4, 2026 926 PM
Brightspace | name number | <number>-<n> - <name> - <when> - <rest> | 1-2 - A - Mar 4, 2026 926 - x
Blackboard | login | <login>_attempt_<time>_<rest> | Lab 1_alee_attempt_2026-03-04-21-26-10_x.py
Blackboard | login | <login>_attempt_<time>.txt | Lab 1_alee_attempt_2026-03-04-21-26-10.txt
Sakai | login | <last>, <first>(<login>) | Lee, Ann(alee)
Sakai | login | <last>, <first>(<login>)_<word>_<rest> | Lee, Ann(alee)_Attachment(s)_x.py
Autolab | email | <email>_<time>_<rest> | alee@x.edu_3_x.py
PrairieLearn | email | <email>_<rest> | alee@x.edu_x.py
Gradescope | export | <export> | submission_33417
ILIAS | last first login number | [<late> - ]<last>_<first>_<login>_<number>[<copy>] | L_A_a_4 (2)
GitHub | user | <user> | lab1-alee
Google Classroom | name | <name> - <rest> | Ann Lee - x.py
"""
_FIELDS = {
    **{"number": r"\d+", "n": r"\d+", "time": r"\d+(?:-\d+)*", "name": ".+?", "rest": ".+"},
    **{"kind": "[a-z]+", "user": ".*?", "mark": "LATE", "late": "[^_]+", "word": "[^_]*"},
    **{"file": r"(?:\d{5,}|\d+(?=_.+\.py\Z))", "typed": r"(?:text|link)\.html"},
    **{"anon": r"anon_[a-zA-Z0-9]{4,8}", "login": ".+?", "copy": r" \(\d+\)"},
    **{"last": r"[^,()_]+", "first": r"[^()_]*[^()_ ]", "export": r"submission_\d+"},
    "when": r"[^\W\d]+\.? \d{1,2}, \d{4} \d{3,4}(?: ?[AP]M)?",
    "email": r"[^@\s]+@[^@\s_]+\.[^@\s_]+",
}
WHOLE = ("notebook", "archive")  # which may be a student's, whatever their names
WEAK = ("Gradescope", "ILIAS", "GitHub", "Google Classroom")  # others have such names, too
TITLE_ENDS = {"Blackboard": "_", "GitHub": "-"}  # where all names begin with the assignment's title
# Canvas adds `-1` or a UUID to a name that it has already. In `step-2.py` the number is the step's.
_RENAMED = re.compile(
    r"(?<!step)-(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\.(?:py|ipynb|zip)\Z)", re.I
)
# All names of an attempt on Blackboard begin alike, and its manifest has no more.
_STAMP = re.compile(r"(?<=.)(_attempt_\d+(?:-\d+)*).*", re.DOTALL)
_PERSON = re.compile(r"^(?:  - |    ):(name|sid|email): *(.*?)\s*$", re.MULTILINE)
# A name on Canvas may end in a number, and the file's own name may begin with one.
_ANOTHER = re.compile(r"(?:text|link)\.html\Z|LATE_\d+_|\d{5,}_.", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """An entry of a class folder: its student, and its name there.

    called: the name under which a file is read; "" for a folder. number: the order of the attempt.
    """

    student: str
    name: str
    called: str = ""
    number: tuple[int, ...] = ()
    who: Who = field(default_factory=Who)


@dataclass(frozen=True)
class _Layout:
    """Hold a line of the table."""

    platform: str
    id: str
    name: str
    example: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces = re.split(r"(<\w+>|\[|\])", self.name)
        signs = {"[": "(?:", "]": ")?", **{f"<{n}>": f"(?P<{n}>{f})" for n, f in _FIELDS.items()}}
        return re.compile("".join(signs.get(one) or re.escape(one) for one in pieces), re.DOTALL)

    def read(self, name: str, is_folder: bool, title: str = "") -> Found | None:
        """Return what the name of an entry says; None if it is not such a name."""
        is_file = "<rest>" in self.name or self.name.endswith((".txt", "<typed>"))
        if is_file is is_folder or not name.startswith(title):
            return None
        match = self._pattern.fullmatch(name, len(title))
        if match is None:
            return None
        said = defaultdict(str, {key: text or "" for key, text in match.groupdict().items()})
        number = said["number"] or (said["user"] if self.platform == "GitHub" else "")
        own = said["name"] or f"{said['first']} {said['last']}".strip()
        parts, late = self.id.split(), bool(said["late"] or said["mark"])
        if self.platform == "Canvas":
            said["rest"] = _RENAMED.sub("", said["rest"])
            # If its numbers may be at another place in the name, too, they are nobody's, because
            # students choose their names and those of their files.
            short = len(said["file"]) < 5 and re.match(r"\d+_", said["rest"])
            if short or _ANOTHER.match(said["rest"]) or re.search(r"_\d+\Z", said["user"]):
                number, late = "", late or "_LATE_" in name
                parts.append("file")
        return Found(
            "_".join(filter(None, map(said.__getitem__, parts))),
            name,
            (said["rest"] or name) if is_file else "",
            _order(said["when"] or said["time"]),
            Who(self.platform, number, own, said["email"], (name,), late, login=said["login"]),
        )


def _order(text: str) -> tuple[int, ...]:
    """Return the order of an attempt by its number or time, such as `Mar 4, 2026 926 PM`."""
    if match := re.fullmatch(r"(\w{3})\w*\.? (\d+, \d{4}) (\d{3,4}) ?([AP]M)?", text):
        month, day, clock, half = match.groups()
        form = "%b %d, %Y %I%M%p" if half else "%b %d, %Y %H%M"
        with suppress(ValueError):
            when = f"{month} {day} {clock.zfill(4)}{half or ''}"
            return tuple(datetime.strptime(when, form).timetuple()[:5])
    return tuple(map(int, re.findall(r"\d{1,18}", text)))


LAYOUTS = [
    _Layout(*(cell.strip() for cell in line.split(" | "))) for line in _TABLE.strip().splitlines()
]
PLATFORMS = tuple(dict.fromkeys(layout.platform for layout in LAYOUTS))


@dataclass(frozen=True)
class Download:
    """A platform's bulk download, or any other folder. title: with what all its names begin."""

    platform: str = ""
    title: str = ""

    def read(self, name: str, is_folder: bool) -> Found | None:
        """Return the student of an entry, or None."""
        lines = (one for one in LAYOUTS if one.platform == self.platform)
        read = (one.read(name, is_folder, self.title) for one in lines)
        return next(filter(None, read), None)


def find_download(
    folders: Collection[str],
    files: Collection[str],
    is_number: Callable[[str, str], bool] = lambda platform, number: False,
    around: str = "",
) -> Download:
    """Return the platform whose names fit more than half of the entries.

    The names of a download fit all its entries, whatever students call their files. So the platform
    counts that fits most of them, and where several do, the one whose mark comes first in a name.
    Loose files that no platform has named do not count. A platform whose names others have as well
    needs a sign.

    is_number: tells whether the class list has somebody with that number on a platform. around: the
    name of the folder.
    """
    entries = [*((name, True) for name in folders), *((name, False) for name in files)]
    read = {
        platform: [one for entry in entries if (one := Download(platform).read(*entry))]
        for platform in PLATFORMS
    }
    plain = {*folders, *(name for name in files if kind_of(name) in WHOLE)}
    most = len(plain | {one.name for found in read.values() for one in found})

    def order(platform: str) -> tuple[bool, int, int]:
        lengths = [len(found.student) for found in read[platform]]
        return platform in WEAK, -len(lengths), sum(lengths)

    for platform in sorted(PLATFORMS, key=order):
        heads = [one.who.number or one.who.login for one in read[platform]]
        title = _find_title(heads, platform, is_number) if platform in TITLE_ENDS else ""
        known = sum(is_number(platform, head[len(title) :]) for head in heads)
        signs = {
            "Gradescope": METADATA in files,
            "ILIAS": known > 0,
            "GitHub": title and (2 * known > len(heads) or around == f"{title}submissions"),
            "Google Classroom": all(one.called.endswith(".py") for one in read[platform])
            and not folders,
        }
        if 2 * len(heads) > most and signs.get(platform, True):
            return Download(platform, title)
    return Download()


def _find_title(
    names: Collection[str], platform: str, is_number: Callable[[str, str], bool]
) -> str:
    """Return the title with which all names begin, with the character that ends it.

    The class list tells where it ends if the logins begin alike, too.
    """
    first = min(names, default="")
    known = {
        first[:at]: sum(is_number(platform, name[at:]) for name in names)
        for at, letter in enumerate(first, 1)
        if letter == TITLE_ENDS[platform] and all(name[:at] == first[:at] for name in names)
    }
    return max(known, key=lambda title: (known[title], title), default="")


def name_submitters(found: Sequence[Found], read: Callable[[str], str]) -> list[Found]:
    """Return the entries with what the files say that some platforms put beside the work.

    read: returns the text of a file of the class folder.
    """
    platforms = {one.who.platform for one in found}
    if "Gradescope" in platforms:
        people = dict(_read_submitters(read(METADATA)))
        return [_submitted(one, people.get(one.student, [])) for one in found]
    if "Blackboard" in platforms:
        beside = {one.name: _STAMP.sub(r"\1.txt", one.name) for one in found if one.who.platform}
        told = {
            name: _read_manifest(name.removesuffix(".txt"), read(name))
            for name in beside.keys() & {*beside.values()}
        }
        return [
            _listed(one, *told[name]) if (name := beside.get(one.name)) in told else one
            for one in found
        ]
    return [*found]


def _read_submitters(metadata: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the submitters of each submission on Gradescope.

    The file is YAML of one form; a line in another form tells nothing.
    """
    _, *blocks = re.split(r"^(submission_\d+):\s*$", metadata, flags=re.MULTILINE)
    for submission, block in zip(blocks[::2], blocks[1::2]):
        listed = re.search(r"^  :submitters:.*\n((?:  [- ] .*(?:\n|\Z))*)", block, re.MULTILINE)
        people = re.split(r"^(?=  - )", listed[1], flags=re.MULTILINE)[1:] if listed else []
        yield (
            submission,
            [
                {key: _read_scalar(text) for key, text in _PERSON.findall(person)}
                for person in people
            ],
        )


def _read_scalar(text: str) -> str:
    """Return the text of a YAML scalar on one line; "" for one that is not plain or quoted."""
    if match := re.fullmatch(r"'((?:[^']|'')*)'", text):
        return match[1].replace("''", "'")
    if text[:1] == '"':
        with suppress(ValueError):
            return str(json.loads(text))
    return "" if text[:1] in '"|>&*!{[' or text in ("null", "~") else text


def _submitted(found: Found, people: Sequence[Mapping[str, str]]) -> Found:
    """Return a submission with its student. That of several keeps its number for an id.

    A name does not count as an id, because students choose it.
    """
    if len(people) != 1:
        ids = tuple(filter(None, (one.get("sid") or one.get("email") for one in people)))
        return replace(found, who=replace(found.who, members=ids))
    name, sid, email = (people[0].get(key, "") for key in ("name", "sid", "email"))
    who = replace(found.who, name=name, email=email, login=sid)
    return replace(found, student=sid or email or found.student, who=who)


def _read_manifest(stamp: str, text: str) -> tuple[str, dict[str, str]]:
    """Return the login and the files' own names, by their names in the download, from Blackboard.

    The text holds what the student has typed, too. So only a login counts that ends the part of
    the manifest's own name before the mark, and only files whose names begin as the manifest's.
    """
    text = text.replace("\r\n", "\n")
    first = re.match(r"[^\n]*\(([^()\s]+)\)[ \t]*(?:\n|\Z)", text)
    head = stamp.rpartition("_attempt_")[0]
    login = first[1] if first and f"_{head}".endswith(f"_{first[1]}") else ""
    listed = re.findall(r"^[ \t]+[^:\n]+: (.*)\n[ \t]+[^:\n]+: (.*)$", text, re.MULTILINE)
    return login, {there: own for own, there in listed if there.startswith(f"{stamp}_")}


def _listed(found: Found, login: str, files: Mapping[str, str]) -> Found:
    """Return a file of a Blackboard download with the login and the name in its manifest."""
    login, called = login or found.who.login, files.get(found.name) or found.called
    return replace(found, student=login, called=called, who=replace(found.who, login=login))
