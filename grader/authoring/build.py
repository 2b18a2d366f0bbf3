"""Build what is generated from the solutions: stubs, and the visible checks' results."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.steps.paths import STUBS, VALUES
from grader.steps.registry import Registry
from grader.steps.stubs import solution_of, stub, write_unless_worked_on
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


def write_values(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Store the results, one call per line, and return whether they changed."""
    new = json.loads(json.dumps(recorded))
    if path.exists() and same_values(json.loads(path.read_text(encoding="utf-8")), new):
        return False
    functions = [
        f'"{name}": {{\n'
        + ",\n".join(f'"{key}": {json.dumps(new[name][key])}' for key in sorted(new[name]))
        + "\n}"
        for name in sorted(new)
    ]
    path.write_text("{\n" + ",\n".join(functions) + "\n}\n", encoding="utf-8")
    return True


def build_stubs(registry: Registry) -> list[Path]:
    """Write the stubs that are out of date."""
    return write_unless_worked_on(stubs(registry), BUILT)


def build(registry: Registry) -> list[Path]:
    """Write everything that is out of date, and return the paths."""
    from grader.authoring.recording import record  # needs torch

    written = build_stubs(registry)
    stored = {VALUES / f"{step.id}.json": step for step in registry.steps}
    return written + [p for p, step in stored.items() if write_values(p, record(registry, step))]
