"""`gpt2`: the student's own decoder runs GPT-2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from grader.cli.kit.models import add_options, run_model
from grader.report.problem import Problem

if TYPE_CHECKING:
    from grader.demos.gpt2.family import Family

SMALL_PROMPT = "the fox has a key . the owl has"
SMALL_TOKENS = 20  # its texts have 32


def _load() -> Family:
    from grader.demos.gpt2.family import GPT2

    return GPT2


@click.command()
@add_options
@click.option("--small", is_flag=True, help="The kit's own trained model, of 58 words.")
def gpt2(small: bool, **given: Any) -> None:
    """Runs GPT-2 on your own decoder: compares it with transformers, then writes a text.

    Without --weights it is the model gpt2 from the hub, and where that cannot be had a tiny one
    with random weights, made here.
    """
    if not small:
        run_model(_load, "gpt2", **given)
        return
    from grader.demos.small import CHEAT, FOLDER

    if given["tiny"] or given["weights"] is not None:
        raise Problem("--small is a model of its own: leave out --tiny and --weights")
    given["prompt"] = (SMALL_PROMPT if given["prompt"] is None else given["prompt"]) + " "
    given["tokens"] = min(given["tokens"], SMALL_TOKENS)
    given["weights"] = str(FOLDER)
    run_model(_load, "gpt2", **given, cheat=str(FOLDER / CHEAT))
