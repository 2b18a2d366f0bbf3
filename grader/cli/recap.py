"""The command `recap`: show the end of a part again."""

from __future__ import annotations

import click

from grader.cli.hosts import hosts
from grader.cli.paths import read_submission
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES


@click.command()
@click.argument("part", required=False)
def recap(part: str | None) -> None:
    """Look back on a part that you finished: part1, that of a step, or by default the last one."""
    registry = registry_module.load()
    from grader.demos.part_ends import choose_part, show_end
    from grader.engine.journal import Journal
    from grader.report.text.terminal import Printer

    journal = Journal(EXERCISES)
    found = choose_part(registry, journal, part, spell_command("check"))
    with hosts(registry, "auto", 1) as (host,):
        show_end(host, registry, found, journal, read_submission(EXERCISES, registry), Printer())
