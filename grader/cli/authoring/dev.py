"""The commands for contributors: `dev new`, `dev check` and `dev english`."""

from __future__ import annotations

import sys

import click

from grader.report.problem import find_steps
from grader.steps import registry as registry_module
from grader.steps.paths import ROOT


@click.group()
def dev() -> None:
    """Add a step (`new`), list what steps lack (`check`), and check the English (`english`)."""


@dev.command()
@click.argument("number", type=click.IntRange(1, 99))
@click.argument("name")
def new(number: int, name: str) -> None:
    """Write every file of a new step, for example `dev new 26 name`."""
    from grader.authoring.step_files import (
        KEYS,
        PREFACE_TEXT,
        STUDENT,
        built_files,
        updated_files,
    )
    from grader.authoring.step_skeleton import write_skeleton

    registry = registry_module.load()
    for what, path in write_skeleton(registry, number, name):
        click.echo(f"wrote {path.relative_to(ROOT)}: {what}")
    step_id = f"step{number:02d}_{name}"
    built, updated = built_files(step_id), updated_files(registry, registry.steps[-1].part)
    for said, paths in (("writes these from them", built), ("updates these", updated)):
        click.echo(f"\n`make build` {said}:")
        for path in paths:
            click.echo(f"  {path.relative_to(ROOT)}")
    click.echo("\nOnly if positions meet in a function, for its map of influence:")
    click.echo("  grader/checks/influence_inputs/")
    click.echo("\nYou add the step to these, and to the maps of the course in its part:")
    for path in (KEYS, STUDENT, PREFACE_TEXT):
        click.echo(f"  {path.relative_to(ROOT)}")
    click.echo(f"\nNext: replace every TODO, `make build`, `python -m grader dev check {number}`.")


@dev.command()
@click.argument("step", nargs=-1)
def check(step: tuple[str, ...]) -> None:
    """Report anything that is missing or inconsistent in the files of steps, one sentence each."""
    from grader.authoring.findings import find_in_kit, find_in_step

    registry = registry_module.load()
    steps = find_steps(registry, step)
    found = [sentence for one in steps for sentence in find_in_step(registry, one)]
    found += find_in_kit(registry)
    for sentence in found:
        click.echo(sentence)
    if not found:
        click.echo("Nothing is missing.")
    sys.exit(1 if found else 0)


@dev.command()
def english() -> None:
    """List words and constructions that the rules for English forbid."""
    from grader.authoring.english import find_bad_english

    found = list(find_bad_english())
    for line in found:
        click.echo(line)
    if not found:
        click.echo("The English follows the rules.")
    sys.exit(1 if found else 0)
