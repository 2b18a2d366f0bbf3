"""Spell a command as the learner can run it: with make, with nopeek, or with Python alone."""

import os
import shlex
import shutil
from pathlib import Path

from grader.steps.paths import HOME

# Commands with another name in the package than in the Makefile.
ALONE = {"exam": "check --suite hidden"}


def spell_command(
    name: str,
    step: int | str | None = None,
    home: Path | None = None,
    submission: Path | None = None,
    *,
    more: bool = False,
) -> str:
    """Return a command as it can be typed in the current folder.

    Use make if the learner's folder has a Makefile and the machine has make. Use nopeek if the
    package's script is on the path. Otherwise, let Python run the package. On Windows a bundle has
    its own script, which PowerShell finds only by its folder. home: another learner's folder, in
    which the command is typed. submission: what it is about, by default the exercises. more: ask
    for everything, not only for what is needed every day.
    """
    folder = home or HOME
    if (folder / "Makefile").is_file() and shutil.which("make"):
        away = home is None and Path.cwd() != folder
        above = os.path.relpath(folder) if folder in Path.cwd().parents else folder
        words = [f"make -C {quote_path(above)}" if away else "make", name]
        words += [f"STEP={step}"] if step is not None else []
        words += ["ALL=1"] if more else []
        if submission is not None:
            path = submission.resolve() if away else submission
            words.append(f"SUBMISSION={quote_path(path)}")
        return " ".join(words)
    program = "nopeek" if shutil.which("nopeek") else "python -m grader"
    if os.name == "nt" and (folder / "nopeek.cmd").is_file():
        program = r".\nopeek"
    first, *options = ALONE.get(name, name).split(" ", 1)
    options += ["--all"] if more else []
    if submission is not None:
        options.append(f"--submission {quote_path(submission)}")
    return " ".join([program, first, *([] if step is None else [str(step)]), *options])


def spell_answer(command: str, place: str = "a b c") -> str:
    """Return a command with a place for an answer."""
    return f'{command} {"ANSWER=" * command.startswith("make ")}"{place}"'


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
