"""The commands `recap` and `write`: look back on a part, and let Part I write a story."""

import click

from grader.cli.hosts import open_host
from grader.cli.options import SEED
from grader.cli.paths import read_submission
from grader.demos.part_ends import choose_part, show_end
from grader.demos.writer import show_stories
from grader.learner.journal import Journal
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES
from grader.steps.registry import load


@click.command()
@click.option("--prompt", default="the owl", help="The beginning of the story.", show_default=True)
@click.option("--seed", type=SEED, default=1, help="Another number, another story.")
def write(prompt: str, seed: int) -> None:
    """Let your functions of steps 1 to 8 write a story, with a small model of the kit's.

    Beside it is a story by the same model, trained without its mask.
    """
    registry = load()
    submission = read_submission(EXERCISES, registry)
    with open_host(registry) as host:
        show_stories(host, registry, submission, Printer(), prompt, seed)


@click.command()
@click.argument("part", required=False)
def recap(part: str | None) -> None:
    """Look back on a part that you finished: part1, that of a step, or by default the last one."""
    registry = load()
    journal = Journal(EXERCISES)
    found = choose_part(registry, journal, part, spell_command("check"))
    with open_host(registry) as host:
        show_end(host, registry, found, journal, read_submission(EXERCISES, registry), Printer())
