"""The command line, `python -m grader`: parse, call and print."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from grader.cli.hosts import open_host
from grader.cli.paths import read_submission, show_path, spell_missing, write_text
from grader.report.problem import Problem, find_steps, need_hidden
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HIDDEN, PACKAGE
from grader.steps.registry import Part, Registry, Step

if TYPE_CHECKING:
    from grader.intake.submission import Submission
    from grader.report.records import Report, StepVerdict
    from grader.report.text.terminal import Printer


MAX_NOTES = 5


class _Later(click.Group):
    """A group that imports a command's module when someone runs that command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *filter(self._is_elsewhere, PLACES)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not self._is_elsewhere(cmd_name):
            return super().get_command(ctx, cmd_name)
        module, _, function = PLACES[cmd_name].partition(":")
        found = importlib.import_module(f"grader.cli.{module}")
        command: click.Command = getattr(found, function or cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; end well if the reader of what it prints, such as `head`, is gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            if _is_read(sys.stdout):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        known = self.list_commands(ctx)
        for reader, names in COMMANDS.items():
            if reader != DAILY and not ctx.meta.get(ALL):
                continue  # it takes a while to import all commands
            found = [(name, self.get_command(ctx, name)) for name in names if name in known]
            rows = [(name, each.get_short_help_str(80)) for name, each in found if each]
            if rows:
                with formatter.section(reader):
                    formatter.write_dl(rows)
        if not ctx.meta.get(ALL):
            formatter.write(f"\n`{spell_command('help', more=True)}` lists all commands.\n")

    def _is_elsewhere(self, name: str) -> bool:
        """Return whether another module has the command: a student's bundle lacks some of them."""
        module = PLACES.get(name, "").partition(":")[0].split(".")
        return module != [""] and PACKAGE.joinpath("cli", *module).with_suffix(".py").is_file()


def _is_read(file: TextIO) -> bool:
    """Return whether anybody still reads what is written there; a line's end tells."""
    try:
        print(file=file, flush=True)
    except BrokenPipeError:
        return False
    return True


ALL = "all"  # the mark of a help page with every command
DAILY = "Every day"
# The commands in the order of `help --all`, by the person who types them: the module that has each,
# and its function, if that has another name. Without a module it is this one.
COMMANDS = {
    DAILY: {
        "check": "",
        "watch": "watching",
        "hint": "hinting",
        "try": "trying:try_step",
        "quiz": "quiz",
        "look": "looking",
    },
    "Student": {
        "init": "learner.init",
        "case": "case",
        "list": "",
        "review": "quiz",
        "recap": "part",
        "bonus": "looking",
        "reset": "",
        "solution": "hinting",
        "handin": "handin",
        "lab": "lab",
    },
    "Demos": {
        "write": "part",
        "leakmap": "pictures",
        "costs": "pictures",
        "train": "training",
        "explore": "explore",
        "gpt2": "demos.models",
        "llama": "demos.models",
    },
    "Instructor": {
        "grade": "kit.grade",
        "course": "kit.course",
        "serve": "kit.serve",
        "export": "kit.export",
        "release": "authoring.release",
        "nbgrader": "authoring.nbgrader",
    },
    "Contributor": {
        "build": "authoring.authors",
        "book": "authoring.book",
        "proof": "authoring.authors",
        "dev": "authoring.dev",
    },
    "Other": {"help": ""},
}
PLACES = {name: place for group in COMMANDS.values() for name, place in group.items()}


@click.group(
    cls=_Later,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="nopeek", prog_name="nopeek")
@click.pass_context
def cli(context: click.Context) -> None:
    """Learn masked self-attention by building it. Without a command, check the exercises."""
    if context.invoked_subcommand is None:
        context.invoke(check)


@cli.command("help")
@click.option("--all", "everything", is_flag=True, help="List all commands, by reader.")
@click.pass_context
def show_help(context: click.Context, everything: bool) -> None:
    """List the commands for every day, or all commands."""
    assert context.parent is not None  # the group
    context.parent.meta[ALL] = everything
    click.echo(context.parent.get_help())


submission_option = click.option(
    "--submission",
    type=click.Path(path_type=Path),
    default=EXERCISES,
    help="A folder of step files, a zip of one, or a notebook; by default, the exercises.",
)
_isolation = click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "process+", "bubblewrap"]),
    default="auto",
    help="Isolation of the submission's code; auto is process, for your own code.",
)


@cli.command()
@click.argument("step", nargs=-1)
@submission_option
@click.option("--suite", type=click.Choice(["visible", "hidden"]), default="visible")
@click.option(
    "--seed", type=click.IntRange(0, 2**63), help="Number of hidden inputs, to get the same again."
)
@_isolation
@click.option("--as", "graded", type=click.Path(path_type=Path), help="A graded class's folder.")
@click.option("--student", help="Judge this student's work as it was graded in the folder of --as.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write the report here; - prints it.",
)
@click.option(
    "--html", "html_file", type=click.Path(path_type=Path), help="Write the report here as a page."
)
@click.option("--ask/--no-ask", default=None, help="Ask two questions after a step; remembered.")
def check(
    step: tuple[str, ...],
    submission: Path,
    suite: str,
    seed: int | None,
    isolation: str,
    graded: Path | None,
    student: str | None,
    json_file: Path | None,
    html_file: Path | None,
    ask: bool | None,
) -> None:
    """Run the checks of some steps, or all, and show the first that needs work."""
    if graded is not None or student is not None:
        if step or seed is not None or suite != "visible":
            raise Problem("--as judges what was graded: leave out steps, --suite and --seed")
        _replay(graded, student, json_file, html_file)
    registry = registry_module.load()
    steps = find_steps(registry, step)
    found = read_submission(submission, registry)
    is_for_program = json_file == Path("-")
    parts = None if is_for_program else registry.group_by_part(steps)
    report, printer = judge(registry, steps, submission, suite, seed, isolation, parts, found)
    if is_for_program:
        click.echo(report.to_json())
        sys.exit(0 if len(report.steps) == len(steps) and report.passed else 1)
    _write(report, json_file, html_file)
    from grader.report.records import Status
    from grader.report.text import terminal

    news, ended = _note(registry, report, submission)
    whole = len(report.steps) == len(steps)
    todo = terminal.find_first_undone(report.steps)
    if ended is not None and (todo is None or todo.status is Status.NOT_ATTEMPTED):
        printer.total(report.steps, registry.group_by_part(steps))
        _show_end(registry, ended, submission, found, printer)
    else:
        if news:
            from grader.cli.quiz import show_passed

            show_passed(printer, registry, news)
        printer.total(report.steps, registry.group_by_part(steps))
        _say_next(printer, registry, report, submission, suite, whole=whole)
    show_notes(printer, found, report.steps)
    if suite == "visible" and name_other(submission) is None:
        _remind(registry, printer)
    if ask is not None:
        from grader.learner.journal import Journal

        Journal(EXERCISES).set_asks(ask)
    if len(news) == 1 and not report.unsupported and _is_asked(report):
        from grader.cli.quiz import ask_after

        ask_after(printer, submission, registry.find(news[0]))
    sys.exit(0 if whole and report.passed and not report.unsupported else 1)


def _replay(
    graded: Path | None, student: str | None, json_file: Path | None, html_file: Path | None
) -> NoReturn:
    """Judge a student's work once more as in a graded class, for an appeal, and end."""
    if graded is None or student is None:
        raise Problem("--as and --student go together: check --as graded --student anna")
    if not HIDDEN.is_dir():
        raise Problem("your instructor has the graded class: this bundle checks your own work")
    from grader.cli.kit.replaying import replay

    report, is_same = replay(graded, student)
    _write(report, json_file, html_file)
    sys.exit(0 if is_same else 1)


def _note(registry: Registry, report: Report, folder: Path) -> tuple[list[str], Part | None]:
    """Note a check of the exercises in the learner's journal.

    Return the steps that pass since it, and the part that it finished.
    """
    if report.suite != "visible" or folder.resolve() != EXERCISES.resolve() or not report.steps:
        return [], None
    from grader.learner.journal import Journal

    journal = Journal(folder)
    news = journal.note(report.steps, time.time())
    return news, journal.find_ended(registry, [step.step for step in report.steps])


def _is_asked(report: Report) -> bool:
    """Return whether somebody is there to be asked, and nothing has failed."""
    from grader.report.records import Status

    fine = {Status.PASSED, Status.NOT_ATTEMPTED}
    is_fine = all(step.status in fine for step in report.steps)
    return is_fine and sys.stdin.isatty() and sys.stdout.isatty()


def _remind(registry: Registry, printer: Printer) -> None:
    """Say once a day that questions of finished steps are due."""
    from grader.learner.journal import Journal
    from grader.learner.review import Reviews

    if said := Reviews(Journal(EXERCISES), registry).remind(time.time(), spell_command("review")):
        printer.line(f"\n{said}", "dim")


def _show_end(
    registry: Registry, part: Part, folder: Path, found: Submission, printer: Printer
) -> None:
    """Print the end of a part."""
    from grader.demos.part_ends import show_end
    from grader.learner.journal import Journal

    with open_host(registry) as host:
        show_end(host, registry, part, Journal(folder), found, printer)


def judge(
    registry: Registry,
    steps: tuple[Step, ...],
    folder: Path,
    suite: str = "visible",
    seed: int | None = None,
    isolation: str = "auto",
    parts: Mapping[str, Collection[str]] | None = None,
    found: Submission | None = None,
) -> tuple[Report, Printer]:
    """Return the report on a folder.

    parts: print a heading and a row for each step, or for a part of these that needs no work.
    found: what was read of the folder, if that is known.
    """
    if suite == "hidden":
        need_hidden()
    elif seed is not None:
        raise Problem("--seed goes with --suite hidden: the visible checks have fixed inputs")
    submission = found or read_submission(folder, registry)
    with open_host(registry, isolation) as host:
        from grader.engine import grading
        from grader.engine.own_memory import limit_memory
        from grader.report.text import terminal

        printer = terminal.Printer()
        if parts is not None:
            printer.line(f"nopeek: {suite} checks on {show_path(folder)}\n", "bold")
        key = grading.fresh_key() if suite == "hidden" and seed is None else ""
        overview = terminal.Overview(printer, parts or {})
        grader = grading.make_grader(registry, host, suite, seed or 0, steps, key=key)
        if suite == "hidden":  # of work that may be anybody's, as on Gradescope
            limit_memory()
        done: list[StepVerdict] = []

        def follow(verdict: StepVerdict | None) -> None:
            """Show a verdict, and say which step is next."""
            if verdict is not None:
                done.append(verdict)
                if parts is not None:
                    overview(verdict)
            if len(done) < len(steps):
                step = steps[len(done)]
                printer.busy(f"judging step {step.number}, {step.title}")

        follow(None)
        try:
            in_pairs = _can_pair(suite, steps)
            return grader.grade(submission, steps, follow, in_pairs=in_pairs), printer
        except KeyboardInterrupt:
            if not done:
                raise Problem("stopped before the first step was judged") from None
            overview.finish()
            printer.line()
            count = f"{len(done)} step{'s' * (len(done) > 1)}"
            printer.line(f"Stopped. {count} of {len(steps)} had been judged:", "bold")
            return grader.report(submission, done), printer
        finally:
            printer.rest()


def _can_pair(suite: str, steps: tuple[Step, ...]) -> bool:
    """Return whether two steps can be judged at a time.

    Not with torch, which must not be forked once it has run.
    """
    from grader.isolation import CAN_FORK

    return suite == "visible" and len(steps) > 2 and CAN_FORK and (os.cpu_count() or 1) > 1


def _write(report: Report, json_file: Path | None, html_file: Path | None) -> None:
    """Write the report as data and as a page, if they are asked for."""
    if json_file is not None:
        data = json.dumps(report.to_dict(), indent=1, allow_nan=False)
        write_text(json_file, f"{data}\n")
    if html_file is not None:
        from grader.report.html.page import page

        write_text(html_file, page(report))


def show_notes(printer: Printer, found: Submission, steps: Sequence[StepVerdict]) -> None:
    """Print how files were read, and what the code does that is refused where a class is graded."""
    from grader.report.records import say_outside
    from grader.report.text import terminal

    notes = [f"note: {note}" for note in found.warnings[:MAX_NOTES]]
    told = [*notes, *filter(None, [say_outside(steps)])]
    for number, line in enumerate(told):
        printer.line(("" if number else "\n") + terminal.clean(line))


def _say_next(
    printer: Printer, registry: Registry, report: Report, folder: Path, suite: str, *, whole: bool
) -> None:
    """Print the first step to work on, and what to do next. whole: all steps were judged."""
    from grader.report.records import Status
    from grader.report.text import terminal

    todo = terminal.find_first_undone(report.steps)
    about = name_other(folder)
    is_exercises = about is None
    if todo is None and not whole:
        again = spell_command("check", submission=about)
        printer.line(f"\nAll judged steps pass. `{again}` judges the rest.")
        return
    if todo is None and report.unsupported:
        _say_unsupported(printer, report.unsupported[0], folder)
        return
    if todo is None:
        exam = spell_command("exam", submission=about)
        after = NEXT_AFTER_ALL[suite].format(exam) if HIDDEN.is_dir() else ""
        if is_exercises and len(report.steps) < len(registry.steps):
            after = f"`{spell_command('check')}` shows what comes next."
        printer.line(f"\nAll of it passes. {after}".rstrip(" "))
        return
    number = todo.number
    if todo.status is not Status.NOT_ATTEMPTED:
        printer.step(todo)
        if is_exercises:
            from grader.learner import hints

            hints.note_shown(todo, folder)
    elif todo.message:
        printer.line(f"\n{terminal.clean(todo.message)}")
    verb = "Next: fill in" if todo.status is Status.NOT_ATTEMPTED else "Next: fix"
    if is_exercises and not (folder / f"{todo.step}.py").exists():
        way = spell_missing(folder, registry.find(todo.step), registry)
        printer.line(f"\nNext: {way}")
        return
    name = "exam" if suite == "hidden" else "check"
    again = spell_command(name, number if len(report.steps) == 1 else None, submission=about)
    file = show_place(folder, todo.step)
    if is_exercises and (lesson := _find_first_lesson(report)):
        printer.line(f"\nNext: read {lesson}: 20 minutes, and nothing to write.")
        printer.line(f"Then fill in {file}, and run `{again}` again.")
    else:
        printer.line(f"\n{verb} {file}, then `{again}` again.")


def _find_first_lesson(report: Report) -> str:
    """Return the file of step 0 if all of a report's steps are still to be begun, or else ""."""
    from grader.report.records import Status
    from grader.steps.quiz import find_preface

    is_new = {step.status for step in report.steps} == {Status.NOT_ATTEMPTED}
    text = find_preface() if is_new and len(report.steps) > 1 else None
    return show_path(text) if text else ""


def _say_unsupported(printer: Printer, step: StepVerdict, folder: Path) -> None:
    """Say which of the student's own earlier steps make a passed step fail."""
    from grader.report.text import terminal

    printer.line(
        f"\nStep {step.number}, {step.title}, passes by itself. {terminal.clean(step.message)}"
    )
    if not step.blamed:
        return
    file = show_place(folder, step.blamed[0])
    look = spell_command("check", terminal.number_in(step.blamed[0]), submission=name_other(folder))
    printer.line(f"\nNext: fix {file}; `{look}` says what is wrong with it.")


def name_other(folder: Path) -> Path | None:
    """Return what a command has to name: None for the exercises, which are the default."""
    return None if folder.resolve() == EXERCISES.resolve() else folder


def show_place(submission: Path, step: str) -> str:
    """Return the place of a step: its file in a folder or a zip, or else the notebook."""
    from grader.intake.filenames import kind_of

    if submission.is_dir():
        return show_path(submission / f"{step}.py")
    place = show_path(submission)
    return place if kind_of(place) == "notebook" else f"{step}.py in {place}"


@cli.command("list")
@submission_option
def list_steps(submission: Path) -> None:
    """List the steps and how far each is."""
    from grader.report.text import terminal

    registry = registry_module.load()
    report, printer = judge(registry, registry.steps, submission, parts={})
    printer.total(report.steps, registry.group_by_part(registry.steps))
    todo = terminal.find_first_undone(report.steps)
    if todo is not None:
        printer.line(f"\nNext: {show_place(submission, todo.step)}")


def need_step(step: str | None, command: str) -> str:
    """Return the step. Raise Problem if none was named."""
    if not step:
        raise Problem(f"name the step: {spell_command(command, 3)}")
    return step


@cli.command()
@click.argument("step", required=False)
def reset(step: str | None) -> None:
    """Put a step's stub back, and keep your file beside it."""
    from grader.steps import stubs

    for found in find_steps(registry_module.load(), (need_step(step, "reset"),)):
        try:
            kept = stubs.reset(found)
        except OSError as error:
            file = f"exercises/{found.filename}"
            raise Problem(f"cannot write {file}: {error.strerror}") from None
        click.echo(f"exercises/{found.filename} is the stub again.")
        if kept is not None:
            click.echo(f"Your file is kept as exercises/{kept.name}.")


def main() -> None:
    """Run the command line."""
    try:
        cli(prog_name="nopeek" if Path(sys.argv[0]).stem == "nopeek" else "python -m grader")
    except registry_module.KitError as error:
        click.echo(f"nopeek: {error}", err=True)
        sys.exit(2)


NEXT_AFTER_ALL = {
    "visible": "`{}` runs the hidden checks on it.",
    "hidden": "Those inputs were new: your code is right, not only on the examples.",
}
