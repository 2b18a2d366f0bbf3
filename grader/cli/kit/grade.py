"""The command `grade`: turn a folder of submissions into a gradebook, pages and an overview."""

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from grader.classroom import judge, publishing
from grader.classroom.course import Course, refuse
from grader.classroom.exports.grades import list_moves
from grader.classroom.gradebook import Gradebook, lock_pages
from grader.classroom.hidden_inputs import find_open
from grader.classroom.judge import Exam
from grader.classroom.marking import Rules, rules_of
from grader.classroom.notices import list_doubtful, list_strangers
from grader.classroom.overrides import HEADER
from grader.classroom.overview import Summary
from grader.classroom.run import GradingRun, list_absent
from grader.classroom.tables import read_roster
from grader.cli.kit.course import course_in
from grader.cli.options import PATH
from grader.engine.kit_digest import kit_digest
from grader.intake import entries as intake
from grader.intake.filenames import kind_of
from grader.intake.submission import SubmissionError
from grader.report.files import write_whole
from grader.report.influences import count_words
from grader.report.problem import Problem, need_torch
from grader.report.records import Change, number_in
from grader.report.sanitize import list_names, one_line
from grader.steps.registry import Step, load

AHEAD = 2  # submissions queued for each judge, so that no judge waits for the next one to be read
MAX_SHOWN = 10
MAX_LOST = 40
SHOWS = (
    "note: visible checks show what a submission returns and prints, and its code can read the "
    "right earlier steps; students may find those on its page. Students have the right results of "
    "visible checks, too, so a program that looks them up passes"
)
FULL = (
    'note: feedback = "full" shows hidden inputs, so these pages end the round. They also show '
    "what a submission returns and prints, and its code can read the right earlier steps"
)
OPEN = (
    "note: the cluster's connections are not encrypted. A person who can read them learns the "
    "hidden inputs; a scheduler at tls://… keeps them secret"
)


@click.command()
@click.argument("submissions", type=PATH)
@click.option("--out", type=PATH, help="Folder for the results; by default, `graded`.")
@click.option("--course", "file", type=PATH, help="The assignment file.")
@click.option("--roster", type=PATH, help="The class list, a CSV file.")
@click.option(
    "--jobs", type=click.IntRange(1, 1024), help="Submissions at a time; by default, all cores."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**53), help="Number of new work's round; the next by default."
)
@click.option("--step", "names", multiple=True, help="Grade only this step; repeat it for more.")
@click.option("--other-steps", is_flag=True, help="Grade another assignment into the same folder.")
@click.option(
    "--suite",
    type=click.Choice(["visible", "hidden"]),
    default="hidden",
    help="The checks; visible ones also show what submissions return and print.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "process+", "process"]),
    default="auto",
    help="Isolation of submissions; auto is bubblewrap.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Grade on this Dask cluster.")
def grade(
    submissions: Path,
    out: Path | None,
    file: Path | None,
    roster: Path | None,
    jobs: int | None,
    seed: int | None,
    names: tuple[str, ...],
    other_steps: bool,
    suite: str,
    isolation: str,
    scheduler: str | None,
) -> None:
    """Grade a class: a folder or zip with one entry for each student.

    You can stop it at any moment. The same command continues where it stopped.
    """
    if suite == "hidden":
        need_torch()
    elif seed is not None:
        raise Problem("--seed goes with the hidden checks: the visible ones have fixed inputs")
    course, steps = course_in(file, names)
    full = suite == "hidden" and bool(course.feedback)
    if full and datetime.now().astimezone() <= datetime.fromisoformat(course.closes):
        raise Problem(
            f'`feedback = "full"` waits for the last extension, {course.closes}: until then, take '
            "it out of the assignment file"
        )
    out = out or (Path("graded") / course.name if course.name else Path("graded"))
    with _stopping(), contextlib.ExitStack() as until:
        kept = _rules(file, course, roster, out, steps)
        rules = rules_of(kept, out)
        listing = _entries(submissions, out, rules, until)
        entries = listing.entries
        out.mkdir(0o700, parents=True, exist_ok=True)  # one that is there keeps its mode
        book = until.enter_context(Gradebook(out, write=True))
        if (last := book.last()) and not other_steps:
            _same_assignment(book, course, steps, out, last)
        secret = (book.secret() or book.make_secret()) if suite == "hidden" else None
        number = book.next_round(1 if seed is None else seed) if secret else 0
        # If the class is graded on this machine, the isolation is probed here.
        isolation = isolation if scheduler else judge.probe_isolation(isolation)
        ids = tuple(step.id for step in steps)
        exam = Exam(suite, number, isolation, ids, kit_digest(), full=full)
        absent = list_absent(book, entries, rules)
        run = GradingRun(book, exam, kept, secret)
        book.note(publishing.STRAYS, dict(listing.ignored))
        named = f", round {exam.seed}" if secret else ""
        count = count_words(len(entries), "submission")
        click.echo(f"grading {count} under {exam.isolation}{named}")
        if secret and scheduler and not scheduler.startswith("tls://"):
            click.echo(f"{OPEN}.")
        if suite == "visible" or exam.full:
            click.echo(SHOWS if suite == "visible" else f"{FULL}.")
        bar: Any = click.progressbar(length=len(entries), show_pos=True)
        with _workforce(jobs, scheduler) as (executor, slots), bar:
            run.grade(
                *(entries, executor, AHEAD * slots),
                lambda: bar.update(run.progress.total() - bar.pos),
                absent,
            )
        with lock_pages(out):
            _template(out / "overrides.csv")
            # Somebody may have changed a grade meanwhile.
            sure = rules_of(kept, out).settle(book.people(run.number))
            found, changes = publishing.publish(book, run.number, out, sure, click.echo)
        for sentence in filter(None, [*list_strangers(sure), find_open(book.path)]):
            click.echo(f"note: {one_line(sentence, 200)}")
        for sentence in list_doubtful(sure, book.graded(run.number), changes):
            click.echo(f"warning: {one_line(sentence, 200)}")
        _summary(found, changes, run.progress, out)
        lost = [("not gradable", row.graded.student, row.reason) for row in found.not_graded]
        lost += [("not read", student, list_names(files)) for student, files in run.unread.items()]
        lost += [("ignored", name, reason) for name, reason in listing.ignored.items()]
        _list_lost(lost, out)
    sys.exit(1 if found.not_graded or run.unread or any(map(kind_of, listing.ignored)) else 0)


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """Say at Ctrl-C how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        raise Problem("stopped; graded work is kept: the same command continues") from None


def _rules(
    file: Path | None, course: Course, roster: Path | None, out: Path, steps: Sequence[Step]
) -> dict[str, Any]:
    """Return the rules that the gradebook keeps; the assignment file's paths are relative to it."""
    base = file.parent if file is not None else Path()
    if roster is None and course.roster:
        roster = base / course.roster
    people = read_roster(roster, course.timezone) if roster is not None else []
    kept = {
        "course": asdict(course),
        "roster": [asdict(person) for person in people],
        "worth": {step.id: step.max_points for step in steps},
    }
    if course.overrides:
        place = (base / course.overrides).resolve()
        _template(place)
        kept["overrides"] = os.path.relpath(place, out.resolve())
    return kept


def _keep_apart(class_: Path, out: Path) -> None:
    """Raise Problem if the results would lie among the submissions, or be graded themselves."""
    place, among = (Path(os.path.realpath(path)) for path in (out, class_))
    is_full = out.is_dir() and any(out.iterdir()) and not (out / intake.RESULTS).is_file()
    wrong = {
        f"{out} holds the submissions: name another folder with --out": place == among,
        f"{out} lies among the submissions and is not empty: name a new folder": is_full
        and place.parent == among,
        f"{class_} holds {intake.RESULTS}, which grading writes: name a folder with submissions "
        "only": (class_ / intake.RESULTS).is_file(),
    }
    refuse(wrong)


def _same_assignment(
    book: Gradebook, course: Course, steps: Sequence[Step], out: Path, last: int
) -> None:
    """Raise Problem if the folder holds another assignment. last: the number of its last run.

    Its pages would be overwritten, and its changes by hand would count for this one.
    """
    before, title = book.exam(last).steps, book.assignment(last).get("course", {}).get("title", "")
    if before != tuple(step.id for step in steps) or title not in ("", course.title):
        numbers = " ".join(str(number_in(id)) for id in before)
        named = f"{one_line(title, 60)!r}, " if title else ""
        raise Problem(
            f"{out} holds the grades of another assignment ({named}steps {numbers}): name another "
            "folder with --out, or say --other-steps to grade this one into it"
        )


def _template(path: Path) -> None:
    """Write a file for changes by hand, with its header only, if there is none yet.

    It is written whole: without the header, a full disk would leave a file that nothing reads.
    """
    if not path.exists():
        write_whole(path, [f"{HEADER}\n"])


def _entries(path: Path, out: Path, rules: Rules, until: contextlib.ExitStack) -> intake.Listing:
    """Return the students, and the files that belong to nobody. until: closes a class's zip."""
    try:
        given = intake.open_class_zip(path, until) if path.is_file() else path
        inner = intake.class_folder(given, load(), rules.has_on_list)
        if inner is not given:
            where = inner if isinstance(inner, Path) else inner.path
            click.echo(f"the class is in {one_line(str(where), 200)}")
        listing = intake.list_class(inner, out, rules.has_on_list, rules.has_number)
    except SubmissionError as error:
        raise Problem(str(error)) from None
    if isinstance(inner, Path):
        _keep_apart(inner, out)
    if not listing.entries:
        _list_lost([("ignored", name, reason) for name, reason in listing.ignored.items()])
        raise Problem(f"there is nothing to grade in {path}")
    only = listing.entries[0]
    is_folder = not (only.who.platform or only.found[-1].called)
    if len(listing.entries) == 1 and is_folder and not rules.has_on_list(only.student):
        first = "" if path is given else "unpack the zip and "
        name = one_line(only.found[-1].name, 60)
        click.echo(f"{name} is one student; if it holds a class, {first}grade that folder")
    return listing


@contextlib.contextmanager
def _workforce(jobs: int | None, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Yield the graders, and how many submissions they take at a time."""
    if scheduler:
        from grader.classroom.cluster import connect

        with connect(scheduler) as cluster:
            yield cluster
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = jobs or cores or 1
    with ThreadPoolExecutor(count) as executor:
        try:
            yield executor, count
        except BaseException:
            judge.stop()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        judge.dismiss()  # now, because judges end with the threads that started them


def _list_lost(lost: Sequence[tuple[str, str, str]], out: Path | None = None) -> None:
    """Print what was not graded or not read, line by line; the class page has all of it."""
    for what, name, reason in lost[:MAX_LOST]:
        click.echo(one_line(f"{what}: {one_line(name, 60)}: {reason}", 300))
    if len(lost) > MAX_LOST:
        where = f", in {out / 'index.html'}" if out else ""
        click.echo(f"and {len(lost) - MAX_LOST} more{where}")


def _summary(found: Summary, changes: Sequence[Change], progress: Counter[str], out: Path) -> None:
    """Print the summary of a run."""
    no_score = len(found.not_graded)
    half_read = max(0, no_score - progress["refused"])  # judged, but for one step's file
    known = progress["kept"] - max(0, half_read - progress["judged"])
    counts = {"known from before": known, "not gradable": no_score}
    counts["without work"] = len(found.absent)
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    click.echo(f"{', '.join([f'{found.graded - known} graded', *parts])}.")
    for change in changes[:MAX_SHOWN]:
        click.echo(f" {_describe_change(change)}")
    if len(changes) > MAX_SHOWN:
        click.echo(f" and {len(changes) - MAX_SHOWN} more, in {out / 'changes.csv'}")
    click.echo(f"Open {out / 'index.html'}; the points are in {out / 'grades.csv'}.")


def _describe_change(change: Change) -> str:
    """Return how the points of a student changed, or that only the checks did."""
    points = [
        "no score" if graded.score is None else f"{graded.score:g}"
        for graded in (change.before, change.after)
    ]
    moved = f"{points[0]} -> {points[1]}" if points[0] != points[1] else f"still {points[0]}"
    if points[0] == points[1] and list_moves(change):
        moved += ", with other checks"
    return f"{one_line(change.student, 60)}: {moved} ({one_line(change.because, 200)})"
