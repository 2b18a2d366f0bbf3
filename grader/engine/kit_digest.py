"""Identify a kit by one digest of everything that a verdict depends on."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from grader.steps.paths import HIDDEN, PACKAGE, ROOT, SOLUTIONS, VISIBLE

# The rooms and files that a verdict depends on; report, demos and the rest only show or carry it.
JUDGING = (
    *("steps", "intake", "answer_key", "isolation", "checks", "diagnosis", "engine"),
    *("report/records.py", "report/influences.py", "classroom/judge.py"),
)


def _name(path: Path) -> str:
    """Return the file's path in the repository, wherever the kit is."""
    home = ROOT if path.is_relative_to(ROOT) else PACKAGE.parent
    return path.relative_to(home).as_posix()


@cache
def kit_digest() -> str:
    """Return a digest that is the same for kits that give the same verdicts."""
    state = hashlib.sha256()
    for name in ("numpy", "torch"):
        state.update(f"{name} {version(name)}\0".encode())
    rooms = [PACKAGE / name for name in JUDGING]
    own = [path for room in rooms for path in (room.rglob("*") if room.is_dir() else [room])]
    found = [*own, *VISIBLE.rglob("*"), *HIDDEN.rglob("*.py"), *SOLUTIONS.glob("*.py")]
    judging = (p for p in found if p.is_file() and p.suffix in {".py", ".toml", ".json"})
    for path in sorted(judging, key=_name):
        state.update(_name(path).encode() + b"\0")
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]
