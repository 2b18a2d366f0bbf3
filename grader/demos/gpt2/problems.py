"""Problems that keep GPT-2 from running, each with one sentence that says what to do."""

from __future__ import annotations


class Gpt2Error(Exception):
    """The weights, the prompt or the machine will not do."""


class NotThere(Gpt2Error):
    """The weights are not available, because there is no network."""


class CodeFailed(Exception):
    """The code of the steps gave no usable result."""
