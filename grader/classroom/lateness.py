"""Work out deadlines, with extensions, and what lateness costs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from grader.classroom.course import Course
from grader.report.influences import count_words
from grader.report.records import Who


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


@dataclass(frozen=True)
class Lateness:
    """How late work was, in words; the percent of its points that are left; and notes on it."""

    told: str = ""
    left: float = 100.0
    notes: tuple[str, ...] = ()


def find_lateness(course: Course, who: Who, extensions: Iterable[str]) -> Lateness:
    """Return how late work was. extensions: the student's own, as times.

    The latest counts: two members of a team may have one each, and the deadline for everybody
    may have been moved behind an extension.
    """
    due, submitted, late = read_moment(course.due), read_moment(who.submitted), course.late
    later = [when for text in extensions if due and (when := read_moment(text)) and when > due]
    due, is_marked = max(later, default=due), who.late and not later
    notes = (f"Extended until {due:%Y-%m-%d %H:%M %z}.",) if due and later else ()
    if due is None or submitted is None:
        if due and late and is_marked:
            marked = f"{who.platform} marks it as late, and no time is known: nothing is taken off."
            notes = (marked,)
        return Lateness("late" if is_marked else "", notes=notes)
    days = days_late(submitted, due, late.grace_minutes if late else 0.0, course.zone)
    told = f"{count_words(days, 'day')} late" if days else ""
    left = max(late.floor_percent, 100.0 - late.percent_per_day * days) if late and days else 100.0
    return Lateness(told, left, notes)
