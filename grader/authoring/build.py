"""Build what is generated from the solutions: stubs, and the visible checks' results."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.report.records import Status
from grader.steps.paths import STUBS, VALUES
from grader.steps.registry import Registry, Step
from grader.steps.stubs import BuildError, solution_of, stub, write_unless_worked_on
from grader.steps.tree import pairs

BUILT = STUBS / ".built.json"  # hashes of the stubs as they were built
# Another processor rounds otherwise. A gradient that is 0 but for rounding, as that of b_k, comes
# out of AdamW a thousand times larger.
CLOSE = 1e-10


def stubs(registry: Registry) -> dict[Path, str]:
    """Return all stubs by path."""
    return {STUBS / step.filename: stub(solution_of(step)) for step in registry.steps}


def same_values(old: Any, new: Any) -> bool:
    """Return whether two values are equal, except for digits that another torch may change."""
    return all(_same(one, other) for _, one, other in pairs(old, new))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def values(registry: Registry, step: Step) -> Mapping[str, Any]:
    """Return the reference's results for the visible checks' inputs.

    Raise BuildError if it fails a check.
    """
    from grader.authoring.recording import record  # needs torch

    recorded, verdicts = record(registry, step)
    failed = [verdict for verdict in verdicts if verdict.status is not Status.PASSED]
    if failed:
        raise BuildError(f"the reference fails {failed[0].check}: {failed[0].message}")
    return recorded


def write_values(step: Step, recorded: Mapping[str, Any], folder: Path = VALUES) -> bool:
    """Store the results, one call per line, and return whether they changed."""
    path = folder / f"{step.id}.json"
    new = json.loads(json.dumps(recorded))
    if path.exists() and same_values(json.loads(path.read_text(encoding="utf-8")), new):
        return False
    functions = [
        f'"{name}": {{\n'
        + ",\n".join(f'"{key}": {json.dumps(new[name][key])}' for key in sorted(new[name]))
        + "\n}"
        for name in sorted(new)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(functions) + "\n}\n", encoding="utf-8")
    return True


def build_stubs(registry: Registry) -> list[Path]:
    """Write the stubs that are out of date."""
    return write_unless_worked_on(stubs(registry), BUILT)


def build(registry: Registry) -> list[Path]:
    """Write everything that is out of date, and return the paths."""
    written = build_stubs(registry)
    for step in registry.steps:
        if write_values(step, values(registry, step)):
            written.append(VALUES / f"{step.id}.json")
    return written
