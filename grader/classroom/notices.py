"""Tell the instructor which rules match nobody or several students, and which times are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grader.classroom.class_list import ClassList
from grader.classroom.exports.people import compose, is_of_team
from grader.classroom.lateness import read_moment
from grader.classroom.matching import Matching, last_of_each
from grader.report.influences import count_words
from grader.report.records import Graded

MOST_NAMES = 5  # in a sentence


def list_strangers(rules: Matching, class_: Iterable[Graded]) -> list[str]:
    """Return a sentence on each rule that matches nobody or several students."""
    class_ = list(class_)
    people = rules.class_list
    if pretenders := people.find_pretenders(class_):
        told = [
            f"class list: {student} has a name of {id}, who is another student, and gets "
            "nobody's time and address."
            for student, id in pretenders.items()
        ]
        return told + list_strangers(rules.without(pretenders), class_)
    everybody = list(map(people.complete, class_))
    return [
        *_shared_people(people, class_),
        *_times(rules, class_),
        *_other_numbers(rules, class_),
        *_no_names(people, class_),
        *_unsure_students(people, class_),
        *_teams_twice(people, class_),
        *_changes_without_student(rules, class_),
        *_outdone(rules, everybody),
        *_absent_teams(people, everybody),
        *_unnamed_teams(people, class_),
        *_teams_like_people(people, class_),
        *_extensions_without_student(rules, everybody),
    ]


def list_ineffective(rules: Matching, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on each change by hand of a step or check that was not graded.

    class_: with the reports, which are read only if there are such changes.
    """
    aimed = [one for one in rules.overrides if one.target and one.is_grade]
    for graded in map(rules.class_list.complete, class_) if aimed else ():
        steps = graded.report.steps if graded.report else ()
        known = {step.step for step in steps}
        known |= {check.check for step in steps for check in step.checks}
        for one in aimed:
            if one.target not in known and rules.is_for(one, graded):
                yield (
                    f"overrides, row {one.row}: {one.target} of {graded.student} was not "
                    "graded; it changes nothing."
                )


def list_unlisted(people: ClassList, class_: Iterable[Graded]) -> list[str]:
    """Return a sentence if students are not on the class list."""
    names = people.find_unlisted(class_)
    if not names:
        return []
    verb = "is" if len(names) == 1 else "are"
    count = count_words(len(names), "student")
    return [f"class list: {count} {verb} not on it: {_list_names(names)}."]


def _shared_people(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    for id, several in people.find_shared(class_).items():
        yield f"class list: {several} students are called {id}; nobody gets its time and address."


def _unsure_students(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    for graded in class_:
        several = 0 if people.is_team(graded) else len(people.near(graded))
        if several > 1:
            yield (
                f"class list: {several} people on it could be {graded.student}, who gets nobody's "
                "time and address."
            )
        if graded.who.absent or graded.student in people.unsure:
            continue
        for one in people.find_others(graded):
            yield (
                f"class list: {graded.student} has a name of {one.id}, who has another number "
                "there, and gets nobody's time and address."
            )
        if people.has_anothers_number(graded):
            for name in sorted(one.id for one in people.owners(graded.who)):
                yield (
                    f"class list: {graded.student} has the number of {name} there, but another "
                    "name, and gets nobody's time and address."
                )


def _other_numbers(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if no number on the instructor's own list is a student's."""
    listed = [one for one in rules.roster if one.who.number and not one.who.platform]
    students = [(one.student, one.who) for one in class_ if not one.who.absent]
    platforms = {who.platform for _, who in students if who.number and who.platform}
    if listed and len(platforms) == 1:
        (platform,) = platforms
        numbers = {who.number for _, who in students}
        if not rules.trusted:
            yield (
                f"class list: the names of most students there have other numbers on {platform}, "
                "so its numbers do not count. Correct the column `number`, or leave it out."
            )
        elif numbers.isdisjoint(one.who.number for one in listed):
            yield (
                f"class list: nobody here has a number of it. The column `number` must have the "
                f"numbers on {platform}."
            )


def _teams_twice(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on each team's name that several have, and on each member's name."""
    for name, works in people.find_equal_teams(class_).items():
        yield f"groups: {len(works)} submissions are called {name}; none gets a member's time."
    for student, team in people.find_like_members(class_).items():
        yield (
            f"class list: {student} has the name of a member of {team}, and gets nobody's time "
            "and address."
        )


def _changes_without_student(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    if not rules.overrides:
        return
    everybody = list(map(rules.class_list.complete, class_))
    sure = rules.unambiguous(class_)
    known = list(map(sure.class_list.complete, class_))
    for one in rules.overrides:
        if one in sure.overrides and any(sure.is_for(one, graded) for graded in known):
            continue
        count = rules.count(one, everybody)
        what = _say_count(rules.class_list, one.student, count)
        if count == 1:
            what = "it is not sure who is called"
        yield f"overrides, row {one.row}: {what} {one.student}; it changes nothing."


def _outdone(rules: Matching, everybody: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence on each change by hand that another row of the same student replaces."""
    several = rules.ambiguous(everybody)
    sure = [one for one in rules.overrides if one.row not in several]
    for graded in everybody if sure else ():
        mine = [one for one in sure if rules.is_for(one, graded)]
        counting = last_of_each(mine)
        for one in mine:
            if one not in counting:
                by = next(o for o in counting if o.is_grade and o.target == one.target)
                yield (
                    f"overrides, row {one.row}: row {by.row} changes the same thing of "
                    f"{graded.student}, and counts."
                )


def _absent_teams(people: ClassList, everybody: Sequence[Graded]) -> Iterator[str]:
    for name in people.groups:
        if not any(compose(name) in people.names_of_work(graded) for graded in everybody):
            yield f"groups: no submission is called {name}, so its members have none."


def _unnamed_teams(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on the teams from Moodle that are not in the assignment's groups."""
    teams = [one for one in class_ if is_of_team(one.who) and not one.who.absent]
    unnamed = [one for one in teams if not people.is_in_groups(one)]
    if names := [one.student for one in unnamed if not people.near(one)]:
        yield (
            "groups: only a team's folder from Moodle has no number, so nobody gets the grade of "
            f"{_list_names(names)}: name the members in `[groups]`."
        )
    if names := [one.student for one in unnamed if people.near(one)]:
        yield (
            "groups: only a team's folder from Moodle has no number, so on the class list "
            f"{_list_names(names)} must be a team."
        )


def _teams_like_people(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on the teams whose work has the id of somebody who is not a member."""
    ids = {one.id for one in people.people}
    teams = (one for one in class_ if people.is_team(one) and not one.who.absent)
    known = ((one, [*people.members(one), *people.near(one)]) for one in teams)
    names = [t.student for t, some in known if t.student in ids - {one.id for one in some}]
    if names:
        yield (
            f"groups: {_list_names(names)}: on the class list a person has the id of this team's "
            "work. Only the team's members get its grade."
        )


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _extensions_without_student(rules: Matching, everybody: Sequence[Graded]) -> Iterator[str]:
    for name in rules.course.extensions:
        count = sum(rules.class_list.is_called(graded, name) for graded in everybody)
        if count != 1 or rules.class_list.count_called(name) > 1:
            yield f"extensions: {_say_count(rules.class_list, name, count)} {name}."


def _say_count(people: ClassList, name: str, students: int) -> str:
    """Return how many have a name: of the students, or of the people on the class list."""
    if (listed := people.count_called(name)) > 1:
        return f"{listed} people on the class list are called"
    return f"{students} students are called" if students else "nobody is called"


def _times(rules: Matching, class_: Sequence[Graded]) -> list[str]:
    """Return sentences on times that are unknown, if they matter."""
    told = [*_unread_times(rules)] or [*_no_times(rules, class_)]
    told += [*_no_file_times(rules, class_), *_unread_notes(rules, class_)]
    return told or [*_no_times_at_all(rules, class_)]


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


def _no_times(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if Moodle's worksheet says of nobody when the work came."""
    times = any(one.who.submitted for one in rules.roster)
    listed = any(one.who.platform == "Moodle" for one in rules.roster)
    if times or not listed or rules.course.late is None or all(one.who.absent for one in class_):
        return
    why = (
        "are not in a form that is known: use a list of your own"
        if rules.course.timezone
        else "are not read without `timezone`"
    )
    yield f"class list: the times in Moodle's worksheet {why}; nobody is late by them."


def _unread_notes(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence on times in nbgrader's notes that are not read."""
    known = [rules.class_list.complete(one) for one in class_] if rules.course.due else []
    listed = {one.who.submitted for one in rules.roster}
    times = [(one.student, one.who.submitted) for one in known if one.who.submitted]
    wrong = [one for one in times if read_moment(one[1]) is None and one[1] not in listed]
    if wrong:
        yield (
            f"late: {len(wrong)} of {len(times)} times in timestamp.txt are not read, such as "
            f"{wrong[0][1]!r} of {wrong[0][0]}: set `timezone` to the one that nbgrader has."
        )


def _no_file_times(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if the files' times are wanted, but are those of the download."""
    if rules.course.late is None or not rules.course.late.files:
        return
    known = (rules.class_list.complete(one).who for one in class_ if one.who.platform)
    count = sum(not who.submitted and not who.absent for who in known)
    if count:
        yield (
            f"late: a platform's download gives its own time to all files, so nobody is late by "
            f"it. {count_words(count, 'student')} without a time: the class list may have theirs."
        )


def _no_times_at_all(rules: Matching, class_: Sequence[Graded]) -> Iterator[str]:
    """Yield a sentence if lateness costs points, and of some nobody knows when they handed in.

    Canvas marks what is late, so only that counts there.
    """
    late, people = rules.course.late, rules.class_list
    if late is None or not late.percent_per_day:
        return
    sure = [one for one in class_ if people.is_team(one) or len(people.near(one)) < 2]
    known = (people.complete(one).who for one in sure)
    unknown = [who for who in known if not who.submitted and not who.absent]
    count = sum(who.late or who.platform != "Canvas" for who in unknown)
    if count:
        yield (
            f"late: no time is known for {count_words(count, 'student')}, so nothing is taken "
            "off: the class list may have their times."
        )


def _no_names(people: ClassList, class_: Iterable[Graded]) -> Iterator[str]:
    """Yield a sentence on students known by number alone, which may be a team's on Moodle."""
    owners = [
        owner
        for one in class_
        if one.who.platform == "Moodle" and not one.who.absent and not people.is_team(one)
        for owner in people.owners(one.who)
    ]
    count = sum(not one.says_name for one in owners)
    if count:
        yield (
            f"class list: it has no names for {count_words(count, 'student')}, found by number "
            "alone. A team on Moodle may have a person's number: name all teams in `[groups]`."
        )
