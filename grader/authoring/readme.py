"""The parts of the README that change with steps, mistakes and attacks: screens and counts."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.proof import HEADER, format_line
from grader.report.files import write_whole
from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step
from grader.steps.stubs import solution_of, stub

README = ROOT / "README.md"
SCREEN = "nopeek: visible checks on exercises/"
SCALE = " / d_k**0.5"  # what the second screen's student forgets


def fresh_readme(registry: Registry, text: str) -> str:
    """Return the README with the screens and counts of the kit as it is."""
    text = _with_counts(text, registry)
    stubs = {step.filename: stub(solution_of(step)) for step in registry.steps}
    started = {s.filename: solution_of(s).replace(SCALE, "") for s in registry.steps[:2]}
    screens = iter([_screen(stubs), _screen({**stubs, **started})])
    block = re.compile(rf"(?<=^```\n){re.escape(SCREEN)}.*?(?=\n```$)", re.DOTALL | re.MULTILINE)
    return block.sub(lambda _: next(screens), text)


def build_readme(registry: Registry) -> list[Path]:
    """Write the README if it is out of date; the path if it was written."""
    text = README.read_text(encoding="utf-8")
    fresh = fresh_readme(registry, text)
    if fresh != text:
        write_whole(README, [fresh])
    return [README] if fresh != text else []


def _screen(files: dict[str, str]) -> str:
    """Return what `check` prints of these exercises."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "exercises"
        folder.mkdir()
        for filename, source in files.items():
            (folder / filename).write_text(source, encoding="utf-8")
        (folder.parent / "Makefile").touch()  # so that commands are said as in a clone
        done = subprocess.run(
            [sys.executable, "-m", "grader", "check"],
            cwd=name,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    return done.stdout.strip("\n")


def _with_counts(text: str, registry: Registry) -> str:
    counts = [(s, len(read(MISTAKES, s)), len(read(FAIR, s))) for s in registry.steps]
    mistakes, fair = sum(row[1] for row in counts), sum(row[2] for row in counts)
    text = re.sub(r"\d+(?= known wrong versions)", str(mistakes), text)
    text = re.sub(r"\d+(?= right ones in)", str(fair), text)
    attacks = importlib.import_module("tests.corpora.hostile").attacks()
    everywhere = sum(attack.needs == "process" for attack in attacks)
    text = re.sub(r"\d+(?= hostile submissions)", str(len(attacks)), text)
    text = re.sub(r"\d+(?= of them under all three)", str(everywhere), text)
    table = re.compile(rf"(?<=\n){re.escape(HEADER)}\n.*?(?=\n```)", re.DOTALL)
    return table.sub(lambda _: _table(counts), text)


def _table(counts: Sequence[tuple[Step, int, int]]) -> str:
    rows = [format_line(step, f"{m} of {m}", f"{f} of {f}") for step, m, f in counts]
    return "\n".join([HEADER, *rows])
