"""Tell the instructor which work and which rules are nobody's, and which times are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grader.classroom.lateness import read_moment
from grader.classroom.matches import MATCHES
from grader.classroom.matching import Matching, last_of_each
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
        *_other_numbers(rules),
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
        yield (
            f"{count} could not be matched with the class list: {_list_names(names)}. The reasons "
            f"are in {MATCHES}; write there whose they are."
        )


def _other_numbers(rules: Matching) -> Iterator[str]:
    """Yield a sentence if no number on the instructor's own list is a student's."""
    listed = {one.who.number for one in rules.roster if not one.who.platform} - {""}
    works = [one.who for one in rules.answer.class_ if not one.who.absent]
    numbers = {who.number for who in works if who.platform} - {""}
    if listed and numbers and numbers.isdisjoint(listed):
        platform = next(who.platform for who in works if who.number)
        yield (
            "class list: nobody here has a number of it. The column `number` must have the "
            f"numbers on {platform}, or be left out."
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


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _times(rules: Matching) -> list[str]:
    """Return sentences on times that are unknown, if they matter."""
    known = [rules.answer.complete(one) for one in rules.answer.class_]
    told = [*_unread_times(rules)] or [*_no_times(rules, known)]
    told += [*_no_file_times(rules, known), *_unread_notes(rules, known)]
    return told or [*_no_times_at_all(rules, known)]


def _unread_times(rules: Matching) -> Iterator[str]:
    """Yield a sentence on texts on the class list that are not times."""
    times = [(one.id, one.who.submitted) for one in rules.roster if one.who.submitted]
    wrong = [(id, text) for id, text in times if read_moment(text) is None]
    if wrong and rules.course.due:
        id, text = wrong[0]
        yield (
            f"class list: {len(wrong)} of {len(times)} times in it are not read, such as {text!r} "
            f"of {id}: write 2026-11-23T23:59:00+01:00, or set `timezone`."
        )


def _no_times(rules: Matching, known: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if Moodle's worksheet says of nobody when the work came."""
    times = any(one.who.submitted for one in rules.roster)
    listed = any(one.who.platform == "Moodle" for one in rules.roster)
    if times or not listed or rules.course.late is None or all(one.who.absent for one in known):
        return
    why = (
        "are not in a form that is known: use a list of your own"
        if rules.course.timezone
        else "are not read without `timezone`"
    )
    yield f"class list: the times in Moodle's worksheet {why}; nobody is late by them."


def _unread_notes(rules: Matching, known: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence on times in nbgrader's notes that are not read."""
    listed = {one.who.submitted for one in rules.roster}
    due = known if rules.course.due else ()
    times = [(one.student, one.who.submitted) for one in due if one.who.submitted]
    wrong = [one for one in times if read_moment(one[1]) is None and one[1] not in listed]
    if wrong:
        yield (
            f"late: {len(wrong)} of {len(times)} times in timestamp.txt are not read, such as "
            f"{wrong[0][1]!r} of {wrong[0][0]}: set `timezone` to the one that nbgrader has."
        )


def _no_file_times(rules: Matching, known: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if the files' times are wanted, but are those of the download."""
    if rules.course.late is None or not rules.course.late.files:
        return
    works = (one.who for one in known if one.who.platform)
    count = sum(not who.submitted and not who.absent for who in works)
    if count:
        yield (
            f"late: a platform's download gives its own time to all files, so nobody is late by "
            f"it. {count_words(count, 'student')} without a time: the class list may have theirs."
        )


def _no_times_at_all(rules: Matching, known: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if lateness costs points, and of some nobody knows when they handed in.

    Canvas marks what is late, so only that counts there.
    """
    if rules.course.late is None or not rules.course.late.percent_per_day:
        return
    unknown = [one.who for one in known if not one.who.submitted and not one.who.absent]
    count = sum(who.late or who.platform != "Canvas" for who in unknown)
    if count:
        yield (
            f"late: no time is known for {count_words(count, 'student')}, so nothing is taken "
            "off: the class list may have their times."
        )
