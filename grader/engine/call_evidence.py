"""Describe the call that a check has just made, for the reader of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.compare import call_text, show_inputs
from grader.report.records import Evidence
from grader.steps.registry import Step
from grader.steps.tree import map_leaves


def _plain(value: Any) -> Any:
    """Return the value without the memory layout of its arrays."""
    return map_leaves(value, lambda leaf: getattr(leaf, "array", leaf))


def show_call(
    step: Step, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Evidence:
    """Return the call and its inputs, for a report without a result."""
    takes = step.function(function).takes
    arguments = _plain({**dict(zip(takes, args, strict=False)), **kwargs})
    return Evidence(call_text(function, arguments), show_inputs(arguments))
