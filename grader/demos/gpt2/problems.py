"""What keeps GPT-2 from running, each said in one sentence that also says what to do."""

from __future__ import annotations


class Gpt2Error(Exception):
    """The weights, the prompt or the machine will not do."""


class NotThere(Gpt2Error):
    """What was asked for cannot be had from here: there is no network."""


class CodeFailed(Exception):
    """The code of the steps gave no usable result."""
