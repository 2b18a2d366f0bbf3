"""Report why a command failed: one clear sentence, and exit status 2."""

import shutil
import sys
import textwrap
from typing import Any

import click

from grader.steps.commands import spell_install
from grader.steps.registry import Registry, Step


class Problem(click.ClickException):
    """Stop a command with one clear sentence and exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print only the sentence, in lines as wide as a terminal."""
        told = f"nopeek: {self.message}"
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns
            told = textwrap.fill(told, width, break_long_words=False, break_on_hyphens=False)
        click.echo(told, err=True)


class CourseError(Problem):
    """A mistake in a file that an instructor has written; the text is one sentence."""


def need(module: str, otherwise: str) -> None:
    """Raise Problem with that sentence if a module is not installed."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise Problem(otherwise)


def need_torch() -> None:
    """Raise Problem, with the fix, if torch is not installed."""
    how = spell_install("exam", "torch==2.13.0")
    need("torch", f"the hidden checks need torch: {how}")


def find_steps(registry: Registry, names: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps with these names, or all steps without names.

    Raise Problem if there is no such step.
    """
    try:
        found = [step for name in names for step in registry.choose(name)]
    except ValueError as error:
        raise Problem(str(error)) from None
    return tuple(step for step in registry.steps if step in found) or registry.steps
