"""`gpt2`: the student's own decoder runs GPT-2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from grader.cli.kit.models import add_options, run_model

if TYPE_CHECKING:
    from grader.demos.gpt2.family import Family


def _load() -> Family:
    from grader.demos.gpt2.family import GPT2

    return GPT2


@click.command()
@add_options
def gpt2(**given: Any) -> None:
    """Runs GPT-2 on your own decoder: compares it with transformers, then writes a text.

    Without --weights it is the model gpt2 from the hub, and where that cannot be had a tiny one
    with random weights, made here.
    """
    run_model(_load, "gpt2", **given)
