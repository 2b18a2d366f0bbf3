"""The command `llama`: run a model of the Llama family on the student's own step 25."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from grader.cli.demos.models import add_options, run_model

if TYPE_CHECKING:
    from grader.demos.gpt2.family import Family


def _load() -> Family:
    from grader.demos.llama.family import LLAMA

    return LLAMA


@click.command()
@add_options
def llama(**given: Any) -> None:
    """Run a Llama on your own code, and compare it with transformers.

    The default is a small model from the hub. If the hub cannot be reached, it is a tiny model with
    random weights, made here. If there is no tokenizer beside the weights, the prompt and the text
    are token ids.
    """
    run_model(_load, "llama", **given)
