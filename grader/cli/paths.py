"""Read the paths that a command gets, show them, and write to them."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from grader.report.problem import Problem
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, INSTALLED
from grader.steps.registry import Registry, Step

if TYPE_CHECKING:
    from grader.intake.submission import Submission


def show_path(path: Path) -> str:
    """Return a path relative to the current folder if possible; a folder ends in a slash."""
    with contextlib.suppress(ValueError):
        path = path.resolve().relative_to(Path.cwd().resolve())
    return f"{path}{os.sep if path.is_dir() else ''}"


def name_other(folder: Path) -> Path | None:
    """Return what a command has to name: None for the exercises, which are the default."""
    return None if folder.resolve() == EXERCISES.resolve() else folder


def show_place(submission: Path, step: str) -> str:
    """Return the place of a step: its file in a folder or a zip, or else the notebook."""
    from grader.intake.filenames import kind_of

    if submission.is_dir():
        return show_path(submission / f"{step}.py")
    place = show_path(submission)
    return place if kind_of(place) == "notebook" else f"{step}.py in {place}"


def check_writable(path: Path) -> None:
    """Raise Problem if a file cannot be written there, before the work that it is to hold."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise Problem(f"cannot write {path}: name a file in a folder that you can write to")


def find_misnamed(folder: Path, step: Step, registry: Registry) -> str:
    """Return a file of the user's own folder that seems to be meant for a step, or ""."""
    from grader.intake.filenames import kind_of, step_meant
    from grader.intake.submission import SubmissionError, list_own, read_text
    from grader.isolation.survey import survey

    names = {function.name for function in step.functions}
    with list_own(folder) as files:
        sources = [file for file in files if kind_of(file.name) == "source"]
        for file in sorted(sources, key=lambda file: step_meant(file.name, registry) != step):
            with contextlib.suppress(SubmissionError):
                found = {one.name for one in survey(read_text(file)).bindings}
                if file.name not in registry.by_filename and not names.isdisjoint(found):
                    return file.shown
    return ""


def spell_missing(folder: Path, step: Step, registry: Registry) -> str:
    """Return what to do where a step has no file: rename another one, or get the stub back."""
    if folder.is_dir() and (other := find_misnamed(folder, step, registry)):
        return f"rename {show_path(folder / other)}. Did you mean {step.filename}?"
    return f"`{spell_command('reset', step.number)}` writes the stub again."


def is_begun(submission: "Submission", step: Step) -> bool:
    """Return whether a step has a file that cannot be read, or in which something is written."""
    from grader.isolation.survey import is_untouched

    text = submission.sources.get(step.id)
    return step.id in submission.refused or (text is not None and not is_untouched(text, step))


def read_submission(path: Path, registry: Registry) -> "Submission":
    """Return the submission at a path: the exercises, or whatever class grading can read.

    The exercises need not exist. Raise Problem if anything else cannot be read.
    """
    from grader.intake.submission import SubmissionError, read_folder

    if INSTALLED and path == EXERCISES and not path.is_dir():
        init = spell_command("init")
        raise Problem(f"there are no exercises here: run `{init}`, which writes them")
    other = name_other(path)
    if other and not other.exists():
        raise Problem(f"there is no folder {path}")
    try:
        if other is None:
            return read_folder(path, registry)
        from grader.intake import entries

        return entries.read(entries.alone(path), registry)
    except SubmissionError as error:
        if any(os.path.lexists(path / step.filename) for step in registry.steps):
            return read_folder(path, registry)  # its steps say why each cannot be read
        raise Problem(f"{show_path(path)} cannot be graded: {error}") from None
