"""The command `gpt2`: run GPT-2 on the student's own decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from grader.cli.demos.models import SmallModel, add_options, run_model

if TYPE_CHECKING:
    from grader.demos.gpt2.family import Family


PROMPT = "the owl looks for the lamp . the fox has seen the"
TOKENS = 20
TEMPERATURE = 0.3  # it knows few words: at 0.8 it forgets its stories
MORAL = (
    "In training it saw each next word, and its loss was 0.03. Now the next word is not there to "
    "be seen."
)


def _load() -> Family:
    from grader.demos.gpt2.family import GPT2

    return GPT2


@click.command()
@add_options
@click.option("--small", is_flag=True, help="The kit's own trained model: a few dozen words.")
def gpt2(small: bool, **given: Any) -> None:
    """Run GPT-2 on your own decoder: compares it with transformers, then writes a text.

    The default is the model gpt2 from the hub. If the hub cannot be reached, it is the kit's own
    small model.
    """
    from grader.demos.gpt2.small import CHEAT, FOLDER

    brought = SmallModel(str(FOLDER), str(FOLDER / CHEAT), PROMPT, TOKENS, TEMPERATURE, MORAL)
    run_model(_load, "gpt2", brought=brought, small=small, **given)
