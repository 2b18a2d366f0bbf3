"""Say what a check has found and what comes next, and keep the learner's journal."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from grader.cli.hosts import open_host
from grader.cli.paths import name_other, show_path, show_place, spell_missing
from grader.intake.submission import Submission
from grader.learner import hints
from grader.learner.asking import Asking
from grader.learner.journal import Journal
from grader.report.records import (
    Report,
    Status,
    StepVerdict,
    find_first_undone,
    number_in,
    say_outside,
)
from grader.report.text.sheet import clean
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HIDDEN, SOLUTIONS
from grader.steps.quiz import find_preface
from grader.steps.registry import Registry, Step
from grader.steps.stubs import find_abilities, stub_of

MAX_NOTES = 5


def tell(
    registry: Registry,
    steps: Sequence[Step],
    report: Report,
    folder: Path,
    found: Submission,
    printer: Printer,
    ask: bool | None,
) -> None:
    """Print what follows the overview of a check. steps: those that were to be judged."""
    judged, parts = [one.step for one in report.steps], registry.group_by_part(steps)
    journal, is_own = Journal(EXERCISES), report.suite == "visible" and name_other(folder) is None
    news = journal.note(report.steps, time.time()) if is_own else []
    ended = journal.find_ended(registry, judged) if is_own else None
    todo = find_first_undone(report.steps)
    if ended is not None and (todo is None or todo.status is Status.NOT_ATTEMPTED):
        printer.total(report.steps, parts)
        with open_host(registry) as host:
            from grader.demos.part_ends import show_end

            show_end(host, registry, ended, journal, found, printer)
    else:
        show_passed(printer, registry, news)
        printer.total(report.steps, parts)
        if todo is None:
            is_whole = len(judged) == len(steps)
            printer.line(f"\n{_say_passed(registry, report, folder, is_whole=is_whole)}")
        else:
            _say_next(printer, registry, report, folder, todo)
    notes = [f"note: {note}" for note in found.warnings[:MAX_NOTES]]
    for number, line in enumerate(filter(None, [*notes, say_outside(report.steps)])):
        printer.line(("" if number else "\n") + clean(line))
    if is_own:
        remind(registry, printer)
    if ask is not None:
        journal.set_asks(ask)
    is_fine = {step.status for step in report.steps} <= {Status.PASSED, Status.NOT_ATTEMPTED}
    is_somebody_there = sys.stdin.isatty() and sys.stdout.isatty()
    if len(news) == 1 and is_fine and not report.unsupported and is_somebody_there:
        ask_after(printer, Asking(EXERCISES, registry), registry.find(news[0]))


def ask_after(printer: Printer, asking: Asking, step: Step) -> None:
    """Ask for a prediction, then for a sentence, about a step that has just passed."""
    if not (wanted := asking.list_after(step)):
        return
    count = "Two questions" if len(wanted) > 1 else "A question"
    printer.line(f"\n{count} on what you have just built; `never` ends them for good.", "dim")
    if asking.ask(printer.line, wanted) == "never":
        asking.journal.set_asks(False)
        command = spell_command("check")
        again = f"{command} ARGS=--ask" if command.startswith("make ") else f"{command} --ask"
        printer.line(f"They end here. `{again}` brings them back.")


def show_passed(printer: Printer, registry: Registry, news: Sequence[str]) -> bool:
    """Print what the learner can do now, and the next commands, if one step alone has just passed.

    Return whether that is so.
    """
    if len(news) != 1:
        return False
    step = registry.find(news[0])
    printer.line(f"\nStep {step.number}, {step.title}, passes.", "green")
    if abilities := find_abilities(stub_of(step)):
        printer.line("You can now")
        for one in abilities:
            printer.line(f"- {one}", indent=2)
    ways = {"look": "draws what it does", "quiz": "asks about the lesson"}
    if SOLUTIONS.is_dir():
        ways["solution"] = "shows how the kit does it"
    for name, does in ways.items():
        printer.line(f"`{spell_command(name, step.number)}` {does}.")
    return True


def remind(registry: Registry, printer: Printer) -> None:
    """Say once a day that questions of finished steps are due."""
    if said := Asking(EXERCISES, registry).remind(spell_command("review")):
        printer.line(f"\n{said}", "dim")


def _say_passed(registry: Registry, report: Report, folder: Path, *, is_whole: bool) -> str:
    """Return what to say if every judged step passed. is_whole: no other was to be judged."""
    about = name_other(folder)
    if not is_whole:
        return (
            f"All judged steps pass. `{spell_command('check', submission=about)}` judges the rest."
        )
    if report.unsupported:
        step = report.unsupported[0]
        told = f"Step {step.number}, {step.title}, passes by itself. {clean(step.message)}"
        if not step.blamed:
            return told
        file = show_place(folder, step.blamed[0])
        look = spell_command("check", number_in(step.blamed[0]), submission=about)
        return f"{told}\n\nNext: fix {file}; `{look}` says what is wrong with it."
    after = ""
    if about is None and len(report.steps) < len(registry.steps):
        after = f"`{spell_command('check')}` shows what comes next."
    elif report.suite == "hidden":
        after = "Those inputs were new: your code is right, not only on the examples."
    elif HIDDEN.is_dir():
        after = f"`{spell_command('exam', submission=about)}` runs the hidden checks on it."
    return f"All of it passes. {after}"


def _say_next(
    printer: Printer, registry: Registry, report: Report, folder: Path, todo: StepVerdict
) -> None:
    """Print what is wrong with the first step to work on, and what to do next."""
    about, is_new = name_other(folder), todo.status is Status.NOT_ATTEMPTED
    if not is_new:
        printer.step(todo)
        if about is None:
            hints.note_shown(todo, folder)
    elif todo.message:
        printer.line(f"\n{clean(todo.message)}")
    if about is None and not (folder / f"{todo.step}.py").exists():
        printer.line(f"\nNext: {spell_missing(folder, registry.find(todo.step), registry)}")
        return
    name, is_alone = "exam" if report.suite == "hidden" else "check", len(report.steps) == 1
    again = spell_command(name, todo.number if is_alone else None, submission=about)
    file = show_place(folder, todo.step)
    is_begun = is_alone or any(one.status is not Status.NOT_ATTEMPTED for one in report.steps)
    if about is None and not is_begun and (lesson := find_preface()):
        printer.line(f"\nNext: read {show_path(lesson)}: 20 minutes, and nothing to write.")
        printer.line(f"Then fill in {file}, and run `{again}` again.")
    else:
        printer.line(f"\nNext: {'fill in' if is_new else 'fix'} {file}, then `{again}` again.")
