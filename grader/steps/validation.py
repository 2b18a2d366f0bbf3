"""Find problems in a registry that somebody has edited, and report each in one sentence."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.steps.registry import Registry

KEYS = {
    "title": str,
    "part": int,
    "source": str,
    "hints": list,
    "function": list,
}


def problem_with(entry: Mapping[str, Any]) -> str:
    """Return the problem with one step's data as a sentence without its file, or "".

    Missing data is not looked for here.
    """
    for key, kind in KEYS.items():
        if key in entry and (not isinstance(entry[key], kind) or isinstance(entry[key], bool)):
            what = {str: "a text", int: "a whole number", list: "a list"}[kind]
            return f"`{key}` must be {what}"
    for function in entry.get("function", ()):
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return "every [[function]] needs a `name`"
        name, checks = function["name"], function.get("checks")
        if not isinstance(checks, dict):
            return f"the checks of {name} must be a table [function.checks]"
        for check, points in checks.items():
            number = isinstance(points, (int, float)) and not isinstance(points, bool)
            if not number or not math.isfinite(points) or points < 0:
                return f"the points of {check} must be a number of at least 0, not {points!r}"
    return ""


def missing_checks(registry: Registry, tests: Path) -> list[str]:
    """Return a sentence for each check of the registry that no function implements."""
    found = []
    for step in registry.steps:
        path = tests / "visible" / f"test_{step.id}.py"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        known = re.findall(r"^def test_(\w+)\(", text, re.MULTILINE)
        for check in step.checks:
            if check.id not in known:
                near = difflib.get_close_matches(check.id, known, 1)
                hint = f"is {near[0]} meant?" if near else f"write test_{check.id}"
                found.append(f"{step.id}.toml: there is no check {check.id}: {hint}")
    return found
