"""Spell a command as the learner can run it: with make, with nopeek, or with Python alone."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from grader.steps.paths import HOME

# Commands with another name in the package than in the Makefile.
ALONE = {"exam": "check --suite hidden"}


def spell_command(name: str, step: int | None = None, home: Path | None = None) -> str:
    """Return a command as it can be typed here, or in another learner's folder.

    Use make if the learner's folder has a Makefile and the machine has make. Use nopeek if the
    package's script is on the path. Otherwise, let Python run the package. On Windows a bundle has
    its own script, which PowerShell finds only by its folder.
    """
    folder = home or HOME
    if (folder / "Makefile").is_file() and shutil.which("make"):
        return f"make {name}" if step is None else f"make {name} STEP={step}"
    program = "nopeek" if shutil.which("nopeek") else "python -m grader"
    if os.name == "nt" and (folder / "nopeek.cmd").is_file():
        program = r".\nopeek"
    name = ALONE.get(name, name)
    if step is None:
        return f"{program} {name}"
    first, *options = name.split(" ", 1)
    return " ".join([program, first, str(step), *options])


def quote_path(path: Path | str) -> str:
    """Return a path as it can be typed in a shell: in quotes if it needs them."""
    if os.name == "nt":
        return f'"{path}"' if " " in str(path) else str(path)
    return shlex.quote(str(path))


def spell_install(target: str, extra: str) -> str:
    """Return the command that installs something: a target of make, or an extra of the package."""
    if spell_command(target).startswith("make "):
        return f"run `make {target}`"
    return f"run `pip install {extra}`"
