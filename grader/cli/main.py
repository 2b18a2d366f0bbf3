"""The command line, `python -m grader`: find the command that was typed, and run it."""

import importlib
import sys
from pathlib import Path

import click

from grader.report.problem import Problem
from grader.steps.commands import spell_command
from grader.steps.paths import PACKAGE
from grader.steps.registry import KitError

ALL = "all"  # the mark of a help page with every command
DAILY = "Every day"
# The commands in the order of `help --all`, by the person who types them: the module that has each,
# and its function, if that has another name.
COMMANDS = {
    DAILY: {
        "check": "checking",
        "watch": "watching",
        "hint": "hinting",
        "try": "functions:try_step",
        "quiz": "quiz",
        "look": "functions",
    },
    "Student": {
        "init": "learner.init",
        "case": "case",
        "list": "checking:list_steps",
        "review": "quiz",
        "recap": "part",
        "bonus": "functions",
        "reset": "checking",
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
        "gpt2": "models",
        "llama": "models",
    },
    "Instructor": {
        "grade": "kit.grade",
        "course": "kit.course",
        "serve": "kit.serve",
        "export": "kit.export",
        "replay": "kit.replay",
        "release": "authoring.release",
        "nbgrader": "authoring.nbgrader",
    },
    "Contributor": {
        "build": "authoring.authors",
        "book": "authoring.authors",
        "proof": "authoring.authors",
        "dev": "authoring.authors",
    },
    "Other": {"help": "main:show_help"},
}
PLACES = {name: place for group in COMMANDS.values() for name, place in group.items()}


class _Later(click.Group):
    """A group that imports a command's module when someone runs that command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(filter(self._is_there, PLACES))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not self._is_there(cmd_name):
            return None
        module, _, function = PLACES[cmd_name].partition(":")
        found = importlib.import_module(f"grader.cli.{module}")
        command: click.Command = getattr(found, function or cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. Say in one sentence what the machine or the kit lacks."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of what it prints, such as `head`, is gone
            raise
        except KitError as error:
            raise Problem(str(error)) from None
        except OSError as error:
            where = f"cannot use {error.filename}: " if error.filename else ""
            raise Problem(f"{where}{error.strerror or error}") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for reader, names in COMMANDS.items():
            if reader != DAILY and not ctx.meta.get(ALL):
                continue  # it takes a while to import all commands
            found = ((name, self.get_command(ctx, name)) for name in names)
            if rows := [(name, each.get_short_help_str(80)) for name, each in found if each]:
                with formatter.section(reader):
                    formatter.write_dl(rows)
        if not ctx.meta.get(ALL):
            formatter.write(f"\n`{spell_command('help', more=True)}` lists all commands.\n")

    def _is_there(self, name: str) -> bool:
        """Return whether the command's module is there: a student's bundle lacks some of them."""
        module = PLACES.get(name, ":").partition(":")[0].split(".")
        return PACKAGE.joinpath("cli", *module).with_suffix(".py").is_file()


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
        from grader.cli.checking import check

        context.invoke(check)


@click.command("help")
@click.option("--all", "everything", is_flag=True, help="List all commands, by reader.")
@click.pass_context
def show_help(context: click.Context, everything: bool) -> None:
    """List the commands for every day, or all commands."""
    assert context.parent is not None  # the group
    context.parent.meta[ALL] = everything
    click.echo(context.parent.get_help())


def main() -> None:
    """Run the command line."""
    cli(prog_name="nopeek" if Path(sys.argv[0]).stem == "nopeek" else "python -m grader")
