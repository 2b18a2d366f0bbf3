"""Which kit gives these verdicts: one digest over everything that a verdict depends on."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from grader.registry import PACKAGE, ROOT

# Changes here change how verdicts are shown, carried or kept, never what they are.
SHOWS = frozenset(
    {"cli", "cli_authors", "cli_grade", "cli_release", "cli_reports", "problem", "hosting"}
    | {"terminal", "page", "grids", "plain", "exports", "files", "screen", "sheet", "matrices"}
    | {"textmap", "watch", "hints", "building", "recording", "proof", "figures", "naming"}
    | {"cli_pictures", "stacks", "stackmap", "leaks", "loaded", "pictures", "blocks"}
    | {"costs", "counting", "curves", "growth", "growthplot"}
    | {"assignments", "course", "cli_lab", "look", "notebook", "selfstudy"}
    | {"bundle", "cli_gpt2", "gpt2", "classroom", "version", "__main__", "__init__"}
)
LIBRARIES = ("numpy", "torch")


def _top(path: Path) -> str:
    """`laws` for a file in that folder, `cli` for cli.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _judging() -> list[Path]:
    """The files that verdicts depend on, in a fixed order."""
    own = [p for p in PACKAGE.rglob("*.py") if _top(p) not in SHOWS]
    checks = [*(ROOT / "tests" / "visible").rglob("*"), *(ROOT / "tests" / "hidden").rglob("*.py")]
    found = [*own, PACKAGE / "registry.toml", *checks, *(ROOT / "solutions").glob("*.py")]
    return sorted(p for p in found if p.is_file() and p.suffix in {".py", ".toml", ".json"})


@cache
def kit_digest() -> str:
    """The same for two kits exactly if they give every submission the same verdicts."""
    state = hashlib.sha256()
    for name in LIBRARIES:
        state.update(f"{name} {version(name)}\0".encode())
    for path in _judging():
        state.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]
