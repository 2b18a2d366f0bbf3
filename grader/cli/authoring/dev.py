"""The commands for contributors: `dev new`, `dev check` and `dev english`."""

import sys
from collections.abc import Iterable
from typing import NoReturn

import click

from grader.report.problem import find_steps
from grader.steps import registry as registry_module
from grader.steps.paths import ROOT


@click.group()
def dev() -> None:
    """Add a step (`new`), list what steps lack (`check`), and check the English (`english`)."""


@dev.command()
@click.argument("name")
def new(name: str) -> None:
    """Write every file of the next step, which is called like its first function."""
    from grader.authoring.step_files import KEYS, PREFACE_TEXT, STUDENT
    from grader.authoring.step_skeleton import write_skeleton

    for what, path in write_skeleton(registry_module.load(), name):
        click.echo(f"wrote {path.relative_to(ROOT)}: {what}")
    click.echo("\nOnly if positions meet in a function, for its map of influence:")
    click.echo("  grader/checks/influence_inputs/")
    click.echo("\nYou add the step to these, and to the maps of the course in its part:")
    for path in (KEYS, STUDENT, PREFACE_TEXT):
        click.echo(f"  {path.relative_to(ROOT)}")
    click.echo("\nNext: replace every TODO, then `make build`, and `python -m grader dev check`.")


@dev.command()
@click.argument("step", nargs=-1)
def check(step: tuple[str, ...]) -> None:
    """Report anything that is missing or inconsistent in the files of steps, one sentence each."""
    from grader.authoring.findings import find_in_kit, find_in_step

    registry = registry_module.load()
    found = [said for one in find_steps(registry, step) for said in find_in_step(registry, one)]
    _list(found + find_in_kit(registry), "Nothing is missing.")


@dev.command()
def english() -> None:
    """List words and constructions that the rules for English forbid."""
    from grader.authoring.english import find_bad_english

    _list(find_bad_english(), "The English follows the rules.")


def _list(found: Iterable[str], otherwise: str) -> NoReturn:
    """Print what was found, and end with 1; say otherwise that it is nothing, and end with 0."""
    lines = [*found]
    for line in lines or [otherwise]:
        click.echo(line)
    sys.exit(1 if lines else 0)
