"""Tell the instructor which work and rules are nobody's, and which changes may be mistakes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from grader.classroom.lateness import read_moment
from grader.classroom.marking import Rules
from grader.classroom.overrides import Override, last_of_each
from grader.classroom.tables import MATCHES
from grader.report.influences import count_words
from grader.report.records import Change, Graded
from grader.report.sanitize import list_names

MOST_NAMES = 5  # in a sentence


def list_strangers(rules: Rules) -> list[str]:
    """Return a sentence on unmatched work, and on each rule that is for nobody or for several.

    rules: those that know the class.
    """
    return [*_nobodys(rules), *rules.answer.notes, *_times(rules), *_vain_changes(rules)]


def list_doubtful(
    rules: Rules, class_: Iterable[Graded], changes: Sequence[Change] = ()
) -> Iterator[str]:
    """Yield a sentence on each change by hand that changes nothing, or may be a mistake.

    That is one of a step or check that was not graded, above the maximum, or older than the newest
    work. class_: with the reports, which are read only if there are changes by hand. changes: the
    results that this run has changed.
    """
    again = {one.student for one in changes if one.before.sha256 != one.after.sha256}
    for graded in class_ if any(one.is_grade for one in rules.overrides) else ():
        known, most = rules.answer.complete(graded), _find_maxima(rules, graded)
        grades = [one for one in rules.changes[graded.student] if one.is_grade]
        for one in last_of_each(grades):
            row = f"overrides, row {one.row}"
            if one.target and one.target not in most:
                yield f"{row}: {one.target} of {graded.student} was not graded; it changes nothing."
            elif (one.points or 0.0) > most.get(one.target, math.inf):
                given = f"{one.points:g} points for {graded.student}"
                yield f"{row}: {given} are more than the {most[one.target]:g} possible."
            if graded.student in again or is_older(one, known.who.submitted):
                yield f"{row}, is older than {graded.student}'s newest work: is it still right?"


def _find_maxima(rules: Rules, graded: Graded) -> dict[str, float]:
    """Return the maximum of each step and check, and of the whole, if it is known."""
    most = rules.course.points or (graded.report.max_score if graded.report else None)
    found = {"": most} if most is not None else {}
    found |= {step.step: step.max_points for step in graded.steps}
    return found | {check.check: check.max_points for step in graded.steps for check in step.checks}


def is_older(change: Override, submitted: str) -> bool:
    """Return whether a change was made before the work came, as far as both times can be read.

    A day alone is older only if the work came on a later one.
    """
    came = read_moment(submitted)
    try:
        made = datetime.fromisoformat(change.when)
    except ValueError:
        return False
    if came is None or (made.tzinfo and made >= came):
        return False
    return bool(made.tzinfo) or made.date() < came.date()


def _vain_changes(rules: Rules) -> Iterator[str]:
    """Yield a sentence on each change of nobody, and on each that a later row replaces."""
    for one in rules.overrides:
        works, count = rules.find_works(one.student, of_members=False)
        if not works:
            called = f"{_say_count(count)} {one.student}"
            yield f"overrides, row {one.row}: {called}; it changes nothing."
    for graded in rules.answer.class_ if rules.overrides else ():
        last: dict[str, int] = {}
        for one in reversed([one for one in rules.changes[graded.student] if one.is_grade]):
            if (row := last.setdefault(one.target, one.row)) != one.row:
                yield (
                    f"overrides, row {one.row}: row {row} changes the same thing of "
                    f"{graded.student}, and counts."
                )


def _nobodys(rules: Rules) -> Iterator[str]:
    """Yield sentences on work that is nobody's, and on rules without work."""
    if names := list(rules.answer.unmatched):
        yield (
            f"{count_words(len(names), 'submission')} could not be matched with the class list: "
            f"{list_names(names, MOST_NAMES)}. The reasons are in {MATCHES}; write there whose "
            "they are."
        )
    here = set(rules.answer.teams.values())
    for name in rules.course.groups:
        if name not in here:
            yield f"groups: no submission is called {name}, so its members have none."
    for name in rules.course.extensions:
        works, count = rules.find_works(name, of_members=True)
        if not works:
            yield f"extensions: {_say_count(count)} {name}."


def _say_count(people: int) -> str:
    return f"{people} people are called" if people > 1 else "there is no work of"


def _times(rules: Rules) -> Iterator[str]:
    """Yield sentences on times that are not read or not known, if they matter.

    Canvas marks what is late, so only that counts there.
    """
    course, late = rules.course, rules.course.late
    here = [one for one in rules.answer.class_ if not one.who.absent]
    known = [rules.answer.complete(one) for one in here]
    everybody = [(one.id, one.who) for one in rules.roster]
    everybody += [(one.student, one.who) for one in known]
    times = {who.submitted: whose for whose, who in everybody if who.submitted}
    wrong = [text for text in times if read_moment(text) is None]
    if wrong and course.due:
        zone = "" if course.timezone else "set `timezone` to theirs, or "
        yield (
            f"late: {len(wrong)} of {len(times)} times are not read, such as {wrong[0]!r} of "
            f"{times[wrong[0]]}: {zone}write 2026-11-23T23:59:00+01:00."
        )
    elif late and late.percent_per_day:
        unknown = [one.who for one in known if not one.who.submitted]
        if count := sum(who.late or who.platform != "Canvas" for who in unknown):
            yield (
                f"late: no time is known for {count_words(count, 'student')}, so nothing is taken "
                "off: the class list may have their times."
            )
