"""Tell the instructor which work and which rules are nobody's, and which times are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.lateness import read_moment
from grader.classroom.matches import MATCHES
from grader.classroom.matching import Matching, last_of_each
from grader.intake.filenames import list_names
from grader.report.influences import count_words
from grader.report.records import Graded

MOST_NAMES = 5  # in a sentence


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
