"""Paths that a command is given: what is read from them, and how they are said."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from grader.report.problem import Problem
from grader.steps.paths import EXERCISES, HOME, INSTALLED
from grader.steps.registry import Registry

if TYPE_CHECKING:
    from grader.intake.submission import Submission


def shown(path: Path) -> str:
    """A path as short as it can be said from here; a folder's ends like one."""
    with contextlib.suppress(ValueError):
        path = path.resolve().relative_to(Path.cwd().resolve())
    return f"{path}{os.sep if path.is_dir() else ''}"


def command(name: str, step: int | None = None) -> str:
    """Return how the learner runs a command: with make where their folder has a Makefile."""
    if (HOME / "Makefile").is_file():
        return f"make {name}" if step is None else f"make {name} STEP={step}"
    return f"nopeek {name}" if step is None else f"nopeek {name} {step}"


def submitted(path: Path, registry: Registry) -> Submission:
    """The folder of step files, the zip of one, or the notebook; Problem if it is none of them.

    The exercises may be there or not.
    """
    from grader.intake.submission import SubmissionError, read_folder

    if INSTALLED and path == EXERCISES and not path.is_dir():
        raise Problem("there are no exercises here: run `nopeek init`, which writes them")
    try:
        if path.is_file():
            from grader.intake import entries

            return entries.read(entries.alone(path), registry)
        found = read_folder(path, registry)
    except SubmissionError as error:
        raise Problem(str(error)) from None
    if not found.sources and not found.refused and path.resolve() != EXERCISES.resolve():
        raise Problem(f"{shown(path)} holds none of the files {_files(registry)}: name another")
    return found


def _files(registry: Registry) -> str:
    return f"{registry.steps[0].filename} … {registry.steps[-1].filename}"
