"""The call that a check has just made, for the reader of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.compare import call_text, shown_inputs
from grader.report.records import Evidence
from grader.steps.registry import Step


def _plain(value: Any) -> Any:
    """The value without how its arrays lie in memory."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return getattr(value, "array", value)


def call_shown(
    step: Step, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Evidence:
    """The call and what went in, where nothing came out that could be shown."""
    takes = step.function(function).takes
    arguments = _plain({**dict(zip(takes, args, strict=False)), **kwargs})
    return Evidence(call_text(function, arguments), shown_inputs(arguments))
