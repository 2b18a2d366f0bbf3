"""Problems that keep GPT-2 from running, each with one sentence that says what to do."""

from __future__ import annotations

from grader.report.problem import Problem


class Gpt2Error(Problem):
    """GPT-2 cannot run with these weights, this prompt or this machine."""


class NotThere(Gpt2Error):
    """The weights are not available, because there is no network."""


class CodeFailed(Problem):
    """The code of the steps gave no usable result."""
