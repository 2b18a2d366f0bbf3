"""Show the end of a part: your abilities, your own map, the mistakes you fixed, the next file."""

import contextlib
from collections.abc import Sequence

from grader.demos.leak_maps import draw_own, measure_own
from grader.demos.submission_worker import NotReady
from grader.demos.writer import show_stories
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.learner.journal import Journal
from grader.report.problem import Problem, find_steps
from grader.report.text.sheet import clean
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.registry import Part, Registry

MOST = 8  # mistakes that are listed


def choose_part(registry: Registry, journal: Journal, name: str | None, status: str) -> Part:
    """Return the part of that name, or of the step that is named, or the last one that passed.

    status: what to type to see how far one is. Raise Problem if there is none, or it did not pass.
    """
    parts = [part for part in registry.parts if registry.of(part)]
    passed = journal.find_passed()
    done = [one for one in parts if passed.issuperset(step.id for step in registry.of(one))]
    if not name and done:
        return done[-1]
    if not name:
        raise Problem(f"no part is finished yet: `{status}` shows how far you are")
    steps = find_steps(registry, (name,))
    wanted = next(part for part in parts if part.number == steps[0].part)
    if wanted not in done:
        raise Problem(f"{wanted.name} is not finished: `{status}` shows what is missing")
    return wanted


def show_end(
    host: Host,
    registry: Registry,
    part: Part,
    journal: Journal,
    submission: Submission,
    printer: Printer,
    *,
    in_notebook: bool = False,
) -> None:
    """Print the end of a part. in_notebook: the next step is one, too."""
    steps = registry.of(part)
    count = sum(len(step.functions) for step in steps)
    printer.line()
    printer.line("=" * min(72, printer.width - 1), "green")
    whole = f"{part.name}, {part.title}, is finished: {count} functions, all yours."
    printer.line(whole, "bold")
    _show_list(printer, "You can now", part.can)
    _show_map(host, registry, part, submission, printer)
    notes = {step.number: journal.on_step(step.id) for step in steps}
    met = [f"step {number}: {said}" for number, one in notes.items() for said in one["met"]]
    more = [f"and {len(met) - MOST} more"] if len(met) > MOST else []
    _show_list(printer, "Mistakes that you met and fixed", met[:MOST] + more)
    own = {number: clean(one["sentence"]) for number, one in notes.items() if one["sentence"]}
    words = [f"step {number}: {text}" for number, text in own.items()]
    _show_list(printer, "In your own words", words)
    if part.then == "write":
        with contextlib.suppress(NotReady):
            show_stories(host, registry, submission, printer)
    if part.read:
        printer.line(f"\nTo read next: {part.read}")
    _show_next(part, registry, printer, in_notebook=in_notebook)


def _show_list(printer: Printer, title: str, texts: Sequence[str]) -> None:
    """Print a list below its title, if it is not empty."""
    for place, text in enumerate(texts):
        if place == 0:
            printer.line(f"\n{title}")
        printer.line(f"- {text}", indent=2)


def _show_map(
    host: Host, registry: Registry, part: Part, submission: Submission, printer: Printer
) -> None:
    """Print the map of the part's function, measured now."""
    step = registry.homes.get(part.shows)
    if step is None:
        return
    with contextlib.suppress(NotReady):
        for one in measure_own(host, registry, submission, step):
            if one.function == part.shows and one.map is not None:
                printer.line(f"\nYour leak map: {one.function}, as it is now")
                draw_own(printer, one)


def _show_next(part: Part, registry: Registry, printer: Printer, *, in_notebook: bool) -> None:
    """Print which command shows what the part was for, and which file comes next."""
    printer.line()
    if part.then:
        name, _, number = part.then.partition(" ")
        command = spell_command(name, int(number) if number else None)
        printer.line(f"Try `{command}`: {part.then_shows}.")
    last = registry.of(part)[-1]
    after = [step for step in registry.steps if step.number > last.number]
    if after and in_notebook:
        printer.line(f"Next: notebooks/{after[0].id}.ipynb.")
    elif after:
        printer.line(f"Next: exercises/{after[0].filename}, then `{spell_command('check')}`.")
