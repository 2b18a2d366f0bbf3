"""Show the end of a part: your abilities, your own map, the mistakes you fixed, the next file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.hosts import hosts
from grader.cli.paths import read_submission
from grader.engine.journal import Journal
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES
from grader.steps.registry import Part, Registry

if TYPE_CHECKING:
    from grader.isolation import Host
    from grader.report.text.terminal import Printer


@click.command()
@click.argument("part", required=False)
def recap(part: str | None) -> None:
    """Look back on a part that you finished: part1, or by default the last one."""
    registry = registry_module.load()
    found = _choose(registry, part)
    from grader.report.text.terminal import Printer

    with hosts(registry, "auto", 1) as (host,):
        show_end(host, registry, found, EXERCISES, Printer())


def _choose(registry: Registry, name: str | None) -> Part:
    """Return the part of that name, or the last one that passed. Raise Problem if none did."""
    journal = Journal(EXERCISES)
    parts = {f"part{part.number}": part for part in registry.parts if registry.of(part)}
    done = [one for one in parts.values() if journal.has_passed(registry, one)]
    if name is None and done:
        return done[-1]
    if name is None:
        raise Problem(f"no part is finished yet: `{spell_command('check')}` shows how far you are")
    if name.lower() not in parts:
        raise Problem(f"there is no {name!r}: name one of {', '.join(parts)}")
    if parts[name.lower()] not in done:
        said = spell_command("check")
        raise Problem(f"{name.lower()} is not finished: `{said}` shows what is missing")
    return parts[name.lower()]


def show_end(host: Host, registry: Registry, part: Part, folder: Path, printer: Printer) -> None:
    """Print the end of a part."""
    steps, journal = registry.of(part), Journal(folder)
    count = sum(len(step.functions) for step in steps)
    printer.line()
    printer.line("=" * min(72, printer.width - 1), "green")
    whole = f"{part.name}, {part.title}, is finished: {count} functions, all yours."
    printer.line(whole, "bold")
    if part.can:
        printer.line("\nYou can now")
        for text in part.can:
            printer.line(f"- {text}", indent=2)
    _show_map(host, registry, part, folder, printer)
    met = [(step.number, said) for step in steps for said in journal.mistakes(step.id)]
    if met:
        printer.line("\nMistakes that you met and fixed")
        for number, said in met:
            printer.line(f"- step {number}: {said}", indent=2)
    _show_minutes(part, registry, journal, printer)
    if part.read:
        printer.line(f"\nTo read next: {part.read}")
    _show_next(part, registry, printer)


def _show_map(host: Host, registry: Registry, part: Part, folder: Path, printer: Printer) -> None:
    """Print the map of the part's function, measured now."""
    from grader.demos.own_maps import FINE, measure_own
    from grader.demos.submission_worker import NotReady
    from grader.report.text.influence_map import draw_map
    from grader.report.text.sheet import Sheet

    name = part.shows
    step = next((s for s in registry.of(part) if name in {f.name for f in s.functions}), None)
    if step is None:
        return
    found = []
    with contextlib.suppress(NotReady):
        found = measure_own(host, registry, read_submission(folder, registry), step)
    for one in found:
        if one.function == name and one.map is not None:
            sheet = Sheet(printer.width, printer.plain)
            sheet.line(f"\nYour leak map: {name}, as it is now")
            draw_map(sheet, one.map, how=False)
            if one.told == [FINE]:
                sheet.line(FINE, indent=5)
            printer.sheet(sheet)


def _show_minutes(part: Part, registry: Registry, journal: Journal, printer: Printer) -> None:
    """Print how many minutes the steps took, as far as that is known."""
    times = {step.number: journal.minutes(step.id) for step in registry.of(part)}
    known = {number: minutes for number, minutes in times.items() if minutes}
    if known:
        each = ", ".join(f"step {number}: {minutes}" for number, minutes in known.items())
        printer.line(f"\nMinutes between your checks, without pauses: {each}.")


def _show_next(part: Part, registry: Registry, printer: Printer) -> None:
    """Print which command shows what the part was for, and which file comes next."""
    printer.line()
    if part.then and _is_here(part.then.split()[0]):
        name, _, number = part.then.partition(" ")
        command = spell_command(name, int(number) if number else None)
        printer.line(f"Try `{command}`: {part.then_shows}.")
    last = registry.of(part)[-1]
    after = [step for step in registry.steps if step.number > last.number]
    if after:
        printer.line(f"Next: exercises/{after[0].filename}, then `{spell_command('check')}`.")


def _is_here(name: str) -> bool:
    """Return whether this kit has the command."""
    from grader.cli.main import cli

    return name in cli.list_commands(click.Context(cli))
