"""Tell the instructor which work and rules are nobody's, and which changes may be mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from grader.classroom.lateness import read_moment
from grader.classroom.matches import MATCHES
from grader.classroom.matching import Matching, last_of_each
from grader.classroom.tables import Override
from grader.intake.filenames import list_names
from grader.report.influences import count_words
from grader.report.records import Change, Graded

MOST_NAMES = 5  # in a sentence
AGAIN = "handed in again"  # why a result has changed


def list_strangers(rules: Matching) -> list[str]:
    """Return a sentence on unmatched work, and on each rule that is for nobody or for several.

    rules: those that know the class.
    """
    return [
        *_unmatched(rules),
        *rules.answer.notes,
        *_times(rules),
        *_changes_without_student(rules),
        *_outdone(rules),
        *_absent_teams(rules),
        *_extensions_without_student(rules),
    ]


def list_ineffective(rules: Matching, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on each change by hand of a step or check that was not graded.

    class_: with the reports, which are read only if there are such changes.
    """
    aimed = any(one.target and one.is_grade for one in rules.overrides)
    for graded in class_ if aimed else ():
        steps = graded.report.steps if graded.report else ()
        known = {step.step for step in steps}
        known |= {check.check for step in steps for check in step.checks}
        for one in rules.list_changes(graded):
            if one.target and one.is_grade and one.target not in known:
                yield (
                    f"overrides, row {one.row}: {one.target} of {graded.student} was not "
                    "graded; it changes nothing."
                )


def list_doubtful(
    rules: Matching, class_: Iterable[Graded], changes: Sequence[Change] = ()
) -> Iterator[str]:
    """Yield a sentence on each change above the maximum, or older than the newest work.

    class_: with the reports, which are read only if there are changes by hand. changes: the results
    that this run has changed.
    """
    again = {one.student for one in changes if one.because.startswith(AGAIN)}
    for graded in class_ if any(one.is_grade for one in rules.overrides) else ():
        known = rules.answer.complete(graded)
        for one in last_of_each(rules.list_changes(graded)):
            what = f"overrides, row {one.row}"
            most = _find_maximum(rules, graded, one.target)
            if one.points is not None and most is not None and one.points > most:
                given = f"{one.points:g} points for {graded.student}"
                yield f"{what}: {given} are more than the {most:g} possible."
            if one.is_grade and (graded.student in again or is_older(one, known.who.submitted)):
                yield f"{what}, is older than {graded.student}'s newest work: is it still right?"


def _find_maximum(rules: Matching, graded: Graded, target: str) -> float | None:
    steps = graded.report.steps if graded.report else ()
    if not target:
        return rules.course.points or (graded.report.max_score if graded.report else None)
    found = {step.step: step.max_points for step in steps}
    found |= {check.check: check.max_points for step in steps for check in step.checks}
    return found.get(target)


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


def _unmatched(rules: Matching) -> Iterator[str]:
    if names := list(rules.answer.unmatched):
        count = count_words(len(names), "submission")
        told = list_names(names, MOST_NAMES)
        yield (
            f"{count} could not be matched with the class list: {told}. The reasons are in "
            f"{MATCHES}; write there whose they are."
        )


def _changes_without_student(rules: Matching) -> Iterator[str]:
    for one in rules.overrides:
        works, count = rules.find_works(one.student, of_members=False)
        if not works:
            called = f"{_say_count(count)} {one.student}"
            yield f"overrides, row {one.row}: {called}; it changes nothing."


def _outdone(rules: Matching) -> Iterator[str]:
    """Yield a sentence on each change by hand that another row of the same student replaces."""
    for graded in rules.answer.class_ if rules.overrides else ():
        mine = rules.list_changes(graded)
        counting = last_of_each(mine)
        for one in mine:
            if one not in counting:
                by = next(o for o in counting if o.is_grade and o.target == one.target)
                yield (
                    f"overrides, row {one.row}: row {by.row} changes the same thing of "
                    f"{graded.student}, and counts."
                )


def _absent_teams(rules: Matching) -> Iterator[str]:
    here = set(rules.answer.teams.values())
    for name in rules.course.groups:
        if name not in here:
            yield f"groups: no submission is called {name}, so its members have none."


def _extensions_without_student(rules: Matching) -> Iterator[str]:
    for name in rules.course.extensions:
        works, count = rules.find_works(name, of_members=True)
        if not works:
            yield f"extensions: {_say_count(count)} {name}."


def _say_count(people: int) -> str:
    return f"{people} people are called" if people > 1 else "there is no work of"


def _times(rules: Matching) -> Iterator[str]:
    """Yield sentences on times that are not read or not known, if they matter.

    Canvas marks what is late, so only that counts there.
    """
    course = rules.course
    known = [rules.answer.complete(one) for one in rules.answer.class_]
    everybody = [*((one.id, one.who) for one in rules.roster)]
    everybody += [(one.student, one.who) for one in known if not one.who.absent]
    times = {who.submitted: whose for whose, who in everybody if who.submitted}
    wrong = [text for text in times if read_moment(text) is None]
    if wrong and course.due:
        yield (
            f"late: {len(wrong)} of {len(times)} times are not read, such as {wrong[0]!r} of "
            f"{times[wrong[0]]}: set `timezone` to theirs, or write 2026-11-23T23:59:00+01:00."
        )
        return
    unknown = [one.who for one in known if not one.who.submitted and not one.who.absent]
    late = course.late
    count = sum(
        who.late or who.platform != "Canvas" or bool(late and late.files) for who in unknown
    )
    if count and late and late.percent_per_day:
        yield (
            f"late: no time is known for {count_words(count, 'student')}, so nothing is taken "
            "off: the class list may have their times."
        )
