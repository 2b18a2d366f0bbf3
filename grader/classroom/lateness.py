"""Work out deadlines, with extensions, and what lateness costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo

from grader.classroom.course import Course
from grader.report.influences import count_words
from grader.report.records import Who

MARKED = "{} marks it as late, {}: nothing is taken off."


def read_moment(text: str) -> datetime | None:
    """Return the time of an ISO 8601 text with a zone; None for any other text."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def days_late(
    submitted: datetime, due: datetime, grace_minutes: float, zone: tzinfo | None = None
) -> int:
    """Return how often the clock had passed the deadline's time of day, plus the grace.

    So a day has 23 or 25 hours if the clocks change. zone: the clock's; by default, the deadline's.

    >>> days_late(read_moment("2026-11-24T00:14Z"), read_moment("2026-11-22T23:59Z"), 15)
    1
    """
    counted = submitted - timedelta(minutes=grace_minutes)
    if counted <= due:
        return 0
    now, then = (one.astimezone(zone or due.tzinfo).replace(tzinfo=None) for one in (counted, due))
    return max(1, math.ceil((now - then) / timedelta(days=1)))


def find_deadline(course: Course, extensions: Iterable[str]) -> tuple[datetime | None, bool]:
    """Return a student's deadline, and whether it is an extension. extensions: the student's own.

    The latest counts: two members of a team may have one each, and the deadline for everybody
    may have been moved behind an extension.
    """
    due = read_moment(course.due)
    mine = map(read_moment, extensions)
    later = [one for one in mine if one is not None and (due is None or one > due)]
    return (max(later), True) if later else (due, False)


def take_off(
    course: Course, who: Who, extensions: Iterable[str], score: float, notes: list[str]
) -> tuple[float, str]:
    """Return the score after lateness, and how late the work was; add what students read to notes.

    extensions: the student's own, as times.
    """
    due, extended = find_deadline(course, extensions)
    late, submitted = course.late, read_moment(who.submitted)
    if due is None:
        return score, "late" if who.late else ""
    is_marked = who.late and not extended
    if extended:
        notes.append(f"Extended until {due:%Y-%m-%d %H:%M %z}.")
    if submitted is None:
        if is_marked and late is not None:
            notes.append(MARKED.format(who.platform, "and no time is known"))
        return score, "late" if is_marked else ""
    days = days_late(submitted, due, late.grace_minutes if late else 0.0, course.zone)
    if not days:
        if is_marked:  # the time may be one that the student's own zip has
            why = "but the time that nopeek knows is not late"
            notes.append(MARKED.format(who.platform, why))
        return score, ""
    told = f"{count_words(days, 'day')} late"
    if late is None or not late.percent_per_day:
        return score, told
    left = max(late.floor_percent, 100.0 - late.percent_per_day * days)
    notes.append(f"{told}: {100 - left:g} % are taken off {score:g} points.")
    if who.platform == "Canvas" and not who.late:  # the time may be one of a wrong clock's zip
        notes.append("Canvas does not mark it as late.")
    return score * left / 100.0, told
