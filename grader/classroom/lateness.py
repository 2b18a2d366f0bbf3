"""Work out deadlines, with extensions, and what lateness costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from grader.classroom.course import Course
from grader.report.records import Who


def read_moment(text: str) -> datetime | None:
    """Return the time of an ISO 8601 text with a zone; None for any other text."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def days_late(submitted: datetime, due: datetime, grace_minutes: float) -> int:
    """Return how many days have begun since the deadline; 0 within the grace."""
    over = submitted - due
    if over <= timedelta(minutes=grace_minutes):
        return 0
    return math.ceil(over / timedelta(days=1))


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
    if extended and due is not None:
        notes.append(f"Extended until {due:%Y-%m-%d %H:%M %z}.")
    if due is None:
        return score, "late" if who.late else ""
    if submitted is None:
        if not who.late:
            return score, ""
        if late is not None and not extended:
            notes.append(
                f"{who.platform} marks it as late, and no time is known: nothing is taken off."
            )
        return score, "" if extended else "late"
    days = days_late(submitted, due, late.grace_minutes if late else 0.0)
    if not days:
        if who.late and not extended:  # the time may be one that the student's own zip has
            notes.append(
                f"{who.platform} marks it as late, but the time that nopeek knows is not late: "
                "nothing is taken off."
            )
        return score, ""
    told = f"{days} day{'s' if days > 1 else ''} late"
    if late is None or not late.percent_per_day:
        return score, told
    left = max(late.floor_percent, 100.0 - late.percent_per_day * days)
    notes.append(f"Begun days late: {days}. {100 - left:g} % are taken off {score:g} points.")
    if who.platform == "Canvas" and not who.late:  # the time may be one of a wrong clock's zip
        notes.append("Canvas does not mark it as late.")
    return score * left / 100.0, told
