"""Read the assignment file, `course.toml`: what is graded, what it is worth, and its deadline.

Every mistake in it is reported in one sentence, a `CourseError`. Only `title` is required.
"""

from __future__ import annotations

import codecs
import dataclasses
import difflib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from grader.report.problem import Problem
from grader.report.sanitize import one_line
from grader.steps.registry import Registry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_FILE = 1_000_000
MAX_TABLE = 100_000_000  # bytes; Moodle's worksheet may hold everything that students have typed
MAX_ENTRIES = 20_000
WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class CourseError(Problem):
    """A mistake in a file that an instructor has written; the text is one sentence."""


@dataclass(frozen=True)
class Late:
    """The cost of lateness, in percent of the earned points for each day begun after the grace.

    floor: the percent that always remain.
    """

    percent_per_day: float = 0.0
    grace_minutes: float = 0.0
    floor_percent: float = 0.0


@dataclass(frozen=True)
class Course:
    """One assignment. Times are ISO 8601 with a zone, so that it can be stored as JSON."""

    title: str = ""
    name: str = ""
    steps: tuple[str, ...] = ()
    points: float | None = None
    due: str = ""
    timezone: str = ""
    drop: int = 0
    roster: str = ""
    overrides: str = ""
    feedback: str = ""
    extra_credit: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    late: Late | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo | None:
        """Return the time zone, if the file names one."""
        return ZoneInfo(self.timezone) if self.timezone else None

    @property
    def closes(self) -> str:
        """Return the last time at which somebody may hand in without being late, or ""."""
        times = [self.due, *self.extensions.values()] if self.due else []
        return max(times, key=datetime.fromisoformat, default="")


TEXTS = ("handin", "welcome")
LATE = ("percent_per_day", "grace_minutes", "floor_percent")


class _CourseReading:
    """One file, while it is being read; every problem names its key."""

    def __init__(self, data: Mapping[str, Any], registry: Registry) -> None:
        self.data = data
        self.registry = registry

    def known(self, table: Mapping[str, Any], keys: Sequence[str], where: str = "") -> None:
        for key in table:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"is `{near[0]}` meant?" if near else f"there are {', '.join(keys)}"
                raise CourseError(f"{where}there is no key `{one_line(key, 40)}`: {hint}")

    def text(self, key: str) -> str:
        value = self.data.get(key, "")
        if not isinstance(value, str) or len(value) > 200:
            raise CourseError(f"`{key}` must be a text of at most 200 characters")
        return str(value).strip()

    def table(self, key: str) -> Mapping[str, Any]:
        value = self.data.get(key, {})
        if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
            raise CourseError(f"`{key}` must be a table, that is, begin with [{key}]")
        return dict(value)

    def step(self, value: Any, key: str) -> tuple[str, ...]:
        try:
            return tuple(step.id for step in self.registry.choose(str(value)))
        except ValueError as error:
            raise CourseError(f"`{key}`: {one_line(str(error), 200)}") from None

    def steps(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self.data.get(key, list(default))
        if not isinstance(value, list):
            raise CourseError(f'`{key}` must be a list, such as ["1", "part2"]')
        named = {id for one in value for id in self.step(one, key)}
        return tuple(step.id for step in self.registry.steps if step.id in named)

    def moment(self, value: Any, key: str, zone: ZoneInfo | None) -> str:
        if not isinstance(value, datetime):
            raise CourseError(
                f"`{key}` must be a time, such as 2026-11-23T23:59:00+01:00, unquoted"
            )
        when: datetime = value
        if when.tzinfo is None:
            if zone is None:
                raise CourseError(
                    f"`{key}` has no time zone: write 2026-11-23T23:59:00+01:00, or set `timezone`"
                )
            when = when.replace(tzinfo=zone)
        return when.isoformat()

    def zone(self) -> ZoneInfo | None:
        name = self.text("timezone")
        if not name:
            return None
        try:
            return ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            raise CourseError(
                f"`timezone` is unknown here, {one_line(name, 60)!r}: "
                'take a name such as "Europe/Berlin"'
            ) from None

    def people(self) -> dict[str, tuple[str, ...]]:
        groups = self.table("groups")
        for group, members in groups.items():
            fine = isinstance(members, list) and all(isinstance(one, str) for one in members)
            if not fine or not members:
                raise CourseError(
                    f'[groups] {one_line(group, 60)!r} must be a list, such as ["Ann Abel", "Bo"]'
                )
        return {group: tuple(members) for group, members in groups.items()}

    def late(self) -> Late | None:
        table = self.table("late")
        if not table:
            return None
        self.known(table, LATE, "[late]: ")
        numbers = {key: number(value, f"[late] {key}") for key, value in table.items()}
        for key in ("percent_per_day", "floor_percent"):
            if numbers.get(key, 0) > 100:
                raise CourseError(f"[late] {key} must be at most 100")
        return Late(**numbers)


def number(value: Any, key: str) -> float:
    """Return a number that is not negative. Raise CourseError for anything else."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or not 0 <= value <= 1e6:
        raise CourseError(f"`{key}` must be a number from 0 to 1,000,000")
    return float(value)


PLAIN = ("title", "name", "roster", "overrides", "feedback")
KEYS = (
    *(*PLAIN, "steps", "points", "due", "timezone", "seed", "drop"),
    *("extra_credit", "weights", "late", "extensions", "groups", "texts"),
)


def parse_course(text: str, registry: Registry) -> Course:
    """Return the assignment that the text describes. Raise CourseError if the text is wrong."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a date that does not exist
        raise CourseError(f"it is not TOML: {one_line(str(error), 200)}") from None
    reading = _CourseReading(data, registry)
    reading.known(data, KEYS)
    zone, texts = reading.zone(), reading.table("texts")
    reading.known(texts, TEXTS, "[texts]: ")
    plain: dict[str, Any] = {key: reading.text(key) for key in PLAIN}
    course = Course(
        **plain,
        steps=reading.steps("steps", tuple(one.id for one in registry.steps)),
        points=number(data["points"], "points") if "points" in data else None,
        due=reading.moment(data["due"], "due", zone) if "due" in data else "",
        timezone=zone.key if zone else "",
        drop=data.get("drop", 0),
        extra_credit=reading.steps("extra_credit"),
        weights={
            id: number(weight, f"weights, {one_line(name, 40)}")
            for name, weight in reading.table("weights").items()
            for id in reading.step(name, "weights")
        },
        late=reading.late(),
        extensions={
            who: reading.moment(when, f"extensions, {one_line(who, 60)}", zone)
            for who, when in reading.table("extensions").items()
        },
        groups=reading.people(),
        texts=texts,
    )
    if not course.name:
        name = re.sub(r"[^a-z0-9]+", "-", course.title.lower()).strip("-")[:40]
        course = dataclasses.replace(course, name=name)
    if wrong := [sentence for sentence, is_wrong in _refusals(course).items() if is_wrong]:
        raise CourseError(wrong[0])
    return course


def _refusals(course: Course) -> dict[str, Any]:
    """Return sentences on what fits together in no assignment, and whether each is true."""
    steps, extra, drop, due = course.steps, course.extra_credit, course.drop, course.due
    strange = [id for id in (*course.weights, *extra) if id not in steps]
    counted = [id for id in steps if id not in extra and course.weights.get(id, 1.0)]
    is_count = isinstance(drop, int) and not isinstance(drop, bool)
    return {
        'it has no title: write `title = "Homework 2"`': not course.title,
        "`steps` names no step: leave it out to grade all": not steps,
        "[late] needs a deadline: set `due`": course.late and not due,
        "[extensions] needs a deadline: set `due`": course.extensions and not due,
        '`feedback` must be "full", or not be there': course.feedback not in ("", "full"),
        '`feedback = "full"` needs a deadline: set `due`': course.feedback and not due,
        f"{''.join(strange[:1])} is not among `steps`": strange,
        "no step counts: leave one out of `extra_credit`, with a weight above 0": not counted,
        f"`drop` must be a whole number below {len(counted)}": not is_count
        or not 0 <= drop < len(counted),
        "`points` must be above 0": course.points == 0,
        "[texts]: each must be a text of at most 10,000 characters": any(
            not isinstance(one, str) or len(one) > 10_000 for one in course.texts.values()
        ),
        "`name` must be letters, digits, dots, - or _: it names a folder": not re.fullmatch(
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", course.name
        ),
    }


def read_own(path: Path, most: int = MAX_FILE) -> tuple[str, str]:
    """Return an instructor's text file, with its byte order mark, and its encoding.

    It is UTF-8, or a spreadsheet's UTF-16. most: how many bytes it may have.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise CourseError(f"{path} is longer than {most:,} bytes")
    encoding = WIDE.get(data[:2], "utf-8")
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        raise CourseError(
            f"{path} is not UTF-8 text: save it as UTF-8, or download it again"
        ) from None


def read_course(path: Path, registry: Registry) -> Course:
    """Return the assignment in a file. Raise CourseError, with the file's name, if it is wrong."""
    text = read_own(path)[0].removeprefix("\ufeff")  # a byte order mark
    try:
        return parse_course(text, registry)
    except CourseError as error:
        raise CourseError(f"{path.name}: {error}") from None
