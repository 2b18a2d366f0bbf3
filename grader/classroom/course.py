"""Read the assignment file, `course.toml`: what is graded, what it is worth, and its deadline.

Every mistake in it is reported in one sentence, a `CourseError`. Only `title` is required.
"""

import codecs
import dataclasses
import difflib
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from grader.report.problem import CourseError
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


def refuse(sentences: Mapping[str, object], where: str = "") -> None:
    """Raise CourseError with the first sentence that is true."""
    for sentence, is_true in sentences.items():
        if is_true:
            raise CourseError(f"{where}{sentence}")


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


def _check_keys(table: Mapping[str, Any], keys: Collection[str], where: str = "") -> None:
    """Raise CourseError for a key that is not among these."""
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f"is `{near[0]}` meant?" if near else f"there are {', '.join(keys)}"
            raise CourseError(f"{where}there is no key `{one_line(key, 40)}`: {hint}")


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or len(value) > 200:
        raise CourseError(f"`{key}` must be a text of at most 200 characters")
    return value.strip()


def _number(value: Any, key: str) -> float:
    """Return a number that is not negative. Raise CourseError for anything else."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or not 0 <= value <= 1e6:
        raise CourseError(f"`{key}` must be a number from 0 to 1,000,000")
    return float(value)


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
        raise CourseError(f"`{key}` must be a table, that is, begin with [{key}]")
    return value


def _texts(value: Any, key: str) -> dict[str, Any]:
    _check_keys(_table(value, key), ("handin", "welcome"), "[texts]: ")
    return _table(value, key)


def _zone(value: Any, key: str) -> str:
    name = _text(value, key)
    try:
        return ZoneInfo(name).key if name else ""
    except (ValueError, OSError, KeyError):
        raise CourseError(
            f'`{key}` is unknown here, {one_line(name, 60)!r}: take a name such as "Europe/Berlin"'
        ) from None


def _groups(value: Any, key: str) -> dict[str, tuple[str, ...]]:
    for group, members in _table(value, key).items():
        fine = isinstance(members, list) and all(isinstance(one, str) for one in members)
        if not fine or not members:
            raise CourseError(
                f'[groups] {one_line(group, 60)!r} must be a list, such as ["Ann Abel", "Bo"]'
            )
    return {group: tuple(members) for group, members in value.items()}


def _late(value: Any, key: str) -> Late | None:
    _check_keys(_table(value, key), [one.name for one in dataclasses.fields(Late)], "[late]: ")
    numbers = {name: _number(number, f"[late] {name}") for name, number in value.items()}
    return Late(**numbers) if numbers else None


def _step(registry: Registry, value: Any, key: str) -> list[str]:
    try:
        return [step.id for step in registry.choose(str(value))]
    except ValueError as error:
        raise CourseError(f"`{key}`: {one_line(str(error), 200)}") from None


def _steps(registry: Registry, value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise CourseError(f'`{key}` must be a list, such as ["1", "part2"]')
    named = {id for one in value for id in _step(registry, one, key)}
    return tuple(step.id for step in registry.steps if step.id in named)


def _weights(registry: Registry, value: Any, key: str) -> dict[str, float]:
    return {
        id: _number(weight, f"{key}, {one_line(name, 40)}")
        for name, weight in _table(value, key).items()
        for id in _step(registry, name, key)
    }


def _moment(zone: str, value: Any, key: str) -> str:
    if not isinstance(value, datetime):
        raise CourseError(f"`{key}` must be a time, such as 2026-11-23T23:59:00+01:00, unquoted")
    if value.tzinfo is None and not zone:
        raise CourseError(
            f"`{key}` has no time zone: write 2026-11-23T23:59:00+01:00, or set `timezone`"
        )
    return (value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))).isoformat()


def _extensions(zone: str, value: Any, key: str) -> dict[str, str]:
    named = _table(value, key).items()
    return {who: _moment(zone, when, f"{key}, {one_line(who, 60)}") for who, when in named}


def parse_course(text: str, registry: Registry) -> Course:
    """Return the assignment that the text describes. Raise CourseError if the text is wrong."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a date that does not exist
        raise CourseError(f"it is not TOML: {one_line(str(error), 200)}") from None
    zone, steps = _zone(data.get("timezone", ""), "timezone"), partial(_steps, registry)
    readers: dict[str, Callable[[Any, str], Any]] = {
        **dict.fromkeys(("title", "name", "roster", "overrides", "feedback"), _text),
        **{"timezone": _zone, "due": partial(_moment, zone), "late": _late, "texts": _texts},
        **{"extensions": partial(_extensions, zone), "groups": _groups, "points": _number},
        **{"steps": steps, "extra_credit": steps, "weights": partial(_weights, registry)},
        "drop": lambda value, key: value,
    }
    _check_keys(data, readers)
    read = {key: readers[key](value, key) for key, value in data.items()}
    name = re.sub(r"[^a-z0-9]+", "-", read.get("title", "").lower()).strip("-")[:40]
    read = {"steps": tuple(one.id for one in registry.steps), **read}
    course = Course(**{**read, "name": read.get("name") or name})
    refuse(_refusals(course))
    return course


def _refusals(course: Course) -> dict[str, Any]:
    """Return sentences on what fits together in no assignment, and whether each is true."""
    steps, extra, drop, due = course.steps, course.extra_credit, course.drop, course.due
    late = course.late or Late()
    strange = [id for id in (*course.weights, *extra) if id not in steps]
    counted = [id for id in steps if id not in extra and course.weights.get(id, 1.0)]
    is_count = isinstance(drop, int) and not isinstance(drop, bool)
    return {
        'it has no title: write `title = "Homework 2"`': not course.title,
        "`steps` names no step: leave it out to grade all": not steps,
        "[late] needs a deadline: set `due`": course.late and not due,
        "[late] percent_per_day must be at most 100": late.percent_per_day > 100,
        "[late] floor_percent must be at most 100": late.floor_percent > 100,
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
