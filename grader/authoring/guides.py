"""Generate the screens in the README and the guides: what the commands print on the kit's code."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.steps.paths import PACKAGE, ROOT
from grader.steps.quiz import PREFACE_TEXT
from grader.steps.registry import Registry
from grader.steps.stubs import solution_of, stub

TUTOR = PACKAGE / "cli" / "learner" / "AGENTS.md"  # how an assistant should help a learner
SCREEN = "nopeek: visible checks on exercises/"
FORGOTTEN = " / d_k**0.5"  # the second screen's student leaves this out of step 2
PROGRAMS = "bin"  # a screen names the program that its reader types, whatever this machine has
CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Return the README and the guides."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def fresh_page(registry: Registry, text: str) -> str:
    """Return a page with the screens of the kit as it is now."""
    stubs = {step.filename: stub(solution_of(step)) for step in registry.steps}
    started = {s.filename: solution_of(s).replace(FORGOTTEN, "") for s in registry.steps[:2]}
    block = re.compile(rf"(?<=^```\n){re.escape(SCREEN)}.*?(?=\n```$)", re.DOTALL | re.MULTILINE)

    def screen(found: re.Match[str]) -> str:
        files = {**stubs, **started} if "\nStep 2" in found[0] else stubs
        with _learner(files, "make") as folder:
            return _run(folder, ["check"]).strip("\n")

    def session(found: re.Match[str]) -> str:
        lines = [line for line in found[0].splitlines() if line.startswith("$ ")]
        with _learner(stubs, lines[0].split()[1]) as folder:
            said = [_run(folder, parse_command(line[2:])).rstrip() for line in lines]
        return "".join(f"{line}\n{output}\n" for line, output in zip(lines, said))

    return CONSOLE.sub(session, block.sub(screen, text))


def fresh_pages(registry: Registry) -> dict[Path, str]:
    """Return the text of each page, and of the advice for assistants, as it should be now."""
    found = {path: fresh_page(registry, path.read_text(encoding="utf-8")) for path in pages()}
    return {**found, ROOT / TUTOR.name: TUTOR.read_text(encoding="utf-8")}


def parse_command(line: str) -> list[str]:
    """Return the arguments of `nopeek` for a line that a reader types.

    >>> parse_command("make quiz STEP=3b ANSWER=12")
    ['quiz', '3b', '12']
    """
    program, name, *rest = shlex.split(line)
    if program == "nopeek":
        return [name, *rest]
    arguments = []
    for word in rest:
        variable, value = word.split("=", 1)
        plain = variable in ("STEP", "ANSWER")
        arguments += [value] if plain else [f"--{variable.lower()}", value]
    return [name, *arguments]


@contextmanager
def _learner(files: Mapping[str, str], program: str) -> Iterator[Path]:
    """Yield a learner's folder with these exercises; with a Makefile if the learner types make."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "exercises").mkdir()
        for filename, source in files.items():
            (folder / "exercises" / filename).write_text(source, encoding="utf-8")
        if program == "make":
            (folder / "Makefile").touch()
            (folder / "docs" / "lessons").mkdir(parents=True)
            shutil.copy(PREFACE_TEXT, folder / "docs" / "lessons")
        (folder / PROGRAMS).mkdir()
        for reader_has in ("make", "nopeek"):
            (folder / PROGRAMS / reader_has).touch(mode=0o755)
        yield folder


def _run(folder: Path, arguments: Sequence[str]) -> str:
    """Return the output of a command in this folder."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(folder / PROGRAMS), os.environ.get("PATH", "")]),
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout
