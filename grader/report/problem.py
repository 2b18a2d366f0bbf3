"""What a command says when it cannot do what it is asked: one clear sentence, exit status 2."""

from __future__ import annotations

from typing import Any

import click

from grader.steps.commands import spell_install
from grader.steps.paths import HIDDEN
from grader.steps.registry import Registry, Step


class Problem(click.ClickException):
    """One clear sentence, and exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """The sentence alone."""
        click.echo(f"nopeek: {self.message}", err=True)


def need(module: str, otherwise: str) -> None:
    """Problem with that sentence, if a module is not installed."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise Problem(otherwise)


def need_torch() -> None:
    """Says how to get the reference of the hidden checks, where it is not installed."""
    how = spell_install("exam", "torch==2.13.0")
    need("torch", f"the hidden checks need torch: {how}")


def need_hidden() -> None:
    """Says why there are no hidden checks, or how to get what they need."""
    if not HIDDEN.is_dir():
        raise Problem("the hidden checks are your instructor's: this bundle has the visible ones")
    need_torch()


def find_steps(registry: Registry, names: tuple[str, ...]) -> tuple[Step, ...]:
    """The steps of these names, all if there are none; Problem if there is no such step."""
    try:
        found = [step for name in names for step in registry.choose(name)]
    except ValueError as error:
        raise Problem(str(error)) from None
    return tuple(step for step in registry.steps if step in found) or registry.steps
