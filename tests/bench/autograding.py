"""`nbgrader autograde` with the kit's judge, side by side with nbgrader's own executor.

    python tests/bench/autograding.py [--students N] [--rounds N] [--isolation NAME]

The same students and functions, one process each; nbgrader's own executor runs two assertions for
each function, without any isolation. Seconds by the clock: let the machine do nothing else.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import rivals
from classes import Graded, Rate, rate
from students import KINDS, Work
from timing import Spent, spent

from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.registry import Step

NBGRADER = ROOT / "notebooks" / "nbgrader"
ENOUGH = 5.0  # times as fast as nbgrader's own executor


@dataclass(frozen=True)
class Options:
    """The options on the command line."""

    students: int
    rounds: int
    isolation: str


def _run(folder: Path, *arguments: str) -> Spent:
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    variables = {name: str(folder / "jupyter" / name) for name in names}
    variables |= {"PATH": here, "PYTHONPATH": str(ROOT)}
    done = spent([sys.executable, "-m", "nbgrader", *arguments], folder, variables)
    if done.status:
        raise rivals.NotThere(f"nbgrader {arguments[0]} failed: {done.last_line}")
    return done


def _filled_in(path: Path, source: str) -> str:
    """The released notebook with a step's work in the cell of its first function."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    answers = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
    answers[0]["source"] = source
    return json.dumps(notebook)


def ours(options: Options, step: Step) -> Graded:
    """Return the time of `nbgrader autograde` with the kit's configuration."""

    def grade(everyone: Mapping[str, Work], folder: Path) -> Spent:
        shutil.copytree(NBGRADER / "source" / step.id, folder / "source" / step.id)
        text = (NBGRADER / "nbgrader_config.py").read_text(encoding="utf-8")
        text += f"\nc.Nopeek.seed = 7\nc.Nopeek.isolation = {options.isolation!r}\n"
        (folder / "nbgrader_config.py").write_text(text, encoding="utf-8")
        _run(folder, "generate_assignment", step.id)
        released = folder / "release" / step.id / f"{step.id}.ipynb"
        for name, work in everyone.items():
            there = folder / "submitted" / name / step.id
            there.mkdir(parents=True)
            (there / released.name).write_text(_filled_in(released, work[step.id]))
        return _run(folder, "autograde", step.id)

    return grade


def theirs(tests: rivals.Tests) -> Graded:
    """Return its time with nbgrader's own executor, which must at least accept right work."""

    def grade(everyone: Mapping[str, Work], folder: Path) -> Spent:
        took, failed = rivals.nbgrader(everyone, tests, folder)
        right = [name for name, kind in zip(everyone, KINDS * len(everyone)) if kind == "right"]
        if any(failed[name] for name in right):
            raise rivals.NotThere("nbgrader rejects work that is right")
        return took

    return grade


def _line(name: str, found: Rate, best: Rate) -> str:
    ratios = f"{found.whole / best.whole:12.1f} {found.more / best.more:9.1f}"
    return f"  {name:<36} {found.whole:10.3f} {found.more:9.3f} {ratios}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--isolation", default="bubblewrap")
    options = Options(**vars(parser.parse_args()))
    if os.getloadavg()[0] > 0.5:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): these times mean little")
    step = registry.load().find("4")
    tests = rivals.tests_of(registry.load(), [step])
    print(f"nbgrader autograde, {options.students} students, step {step.number}: seconds each")
    print(f"  {'':36} {'whole':>10} {'no start':>9} {'times ours':>12} {'no start':>9}")
    try:
        best = rate(ours(options, step), [step], options.students, options.rounds)
        print(_line(f"nopeek's judge, {options.isolation}", best, best), flush=True)
        other = rate(theirs(tests), [step], options.students, options.rounds)
        print(_line("nbgrader's own executor", other, best), flush=True)
        verdict = "at least" if other.whole / best.whole >= ENOUGH else "NOT"
        print(f"  {verdict} {ENOUGH:g} times as fast, start-up and all")
    except rivals.NotThere as error:
        print(f"  not measured: {error}")


if __name__ == "__main__":
    main()
