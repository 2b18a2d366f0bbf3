"""The options and arguments that several commands share."""

from pathlib import Path

import click

from grader.report.problem import Problem, find_steps
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES
from grader.steps.registry import Step, load

PATH = click.Path(path_type=Path)
PORT = click.IntRange(0, 65535)
SEED = click.IntRange(0, 2**32 - 1)
submission_option = click.option(
    "--submission",
    type=PATH,
    default=EXERCISES,
    help="A folder of step files, a zip of one, or a notebook; by default, the exercises.",
)
json_option = click.option(
    "--json", "json_file", type=PATH, help="Write the report here; - prints it."
)
html_option = click.option("--html", "html_file", type=PATH, help="Write a page.")
browser_option = click.option(
    "--no-browser", is_flag=True, help="Print the address instead of opening it."
)


def need_steps(name: str | None, command: str) -> tuple[Step, ...]:
    """Return the step of that name, or all steps of a part. Raise Problem if none was named."""
    if not name:
        raise Problem(f"name the step: {spell_command(command, 3)}")
    return find_steps(load(), (name,))
