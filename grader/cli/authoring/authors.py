"""The commands for contributors: `build`, `proof`, `book` and `dev`."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from grader.cli.hosts import open_host
from grader.cli.options import PATH
from grader.cli.paths import show_path
from grader.report.problem import find_steps, need, need_torch
from grader.steps.paths import ROOT
from grader.steps.registry import Step, load

if TYPE_CHECKING:
    from grader.report.text.terminal import Printer


@click.command()
def build() -> None:
    """Generate stubs, notebooks, stored values and the screens in the guides."""
    from grader.authoring import build

    need_torch()
    need("jupytext", "the notebooks need jupytext: run `make build`")
    from grader.authoring.assignments import assignments
    from grader.authoring.figures import build_figures, captions
    from grader.authoring.guides import fresh_pages
    from grader.authoring.lessons import build_notebooks
    from grader.authoring.proof import caught_by
    from grader.report.files import write_changed

    registry = load()
    written = build.build(registry) + build_figures(registry)
    written += write_changed(captions(registry)) + build_notebooks(registry)
    for make in (assignments, caught_by, fresh_pages):
        written += write_changed(make(registry))
    for path in written:
        click.echo(f"wrote {path.relative_to(ROOT)}")
    if not written:
        click.echo("everything is up to date")


@click.command()
@click.argument("step", nargs=-1)
@click.option("--suite", type=click.Choice(["visible", "hidden"]), default="hidden")
@click.option("--seed", type=click.IntRange(0, 2**63), help="Seed for the hidden inputs.")
@click.option("--causes", is_flag=True, help="Count how many mistakes are named instead.")
def proof(step: tuple[str, ...], suite: str, seed: int | None, causes: bool) -> None:
    """Show that known mistakes fail and fair variants pass."""
    from grader.engine.grading import fresh_seed
    from grader.report.text.terminal import Printer

    steps, printer = find_steps(load(), step), Printer()
    if suite == "hidden" or causes:
        need_torch()
    seed = fresh_seed() if seed is None else seed
    good = (_name_causes if causes else _prove)(printer, steps, suite, seed)
    printer.line(f"\n{suite} checks, seed {seed}")
    sys.exit(0 if good else 1)


def _prove(printer: "Printer", steps: Sequence[Step], suite: str, seed: int) -> bool:
    """Print the outcomes of all variants, and return whether each has the right one."""
    from grader.answer_key.variants import FAIR, MISTAKES, read
    from grader.authoring import proof
    from grader.engine.grading import make_grader

    registry, good = load(), True
    printer.line(proof.HEADER)
    with open_host(registry) as host:
        for step in steps:
            grader = make_grader(registry, host, suite, seed, [step], thorough=False)
            findings = proof.prove(grader, step, [*read(MISTAKES, step), *read(FAIR, step)])
            for finding in findings:
                if not finding.ok:
                    good = False
                    printer.line(proof.line(finding))
            printer.line(proof.row(step, findings))
    return good


def _name_causes(printer: "Printer", steps: Sequence[Step], suite: str, seed: int) -> bool:
    """Print the figures of the diagnosis, and return whether they meet their targets."""
    from grader.authoring import proof

    good = True
    printer.row(proof.CAUSES_HEADER)
    for found in proof.all_figures(steps, suite, seed):
        for line in filter(None, map(proof.explain_outcome, found.outcomes)):
            printer.line(line)
        printer.row(found.row)
        good = good and found.kept
    printer.line(f"\n{proof.LEGEND}")
    return good


@click.command()
@click.option("--out", type=PATH, default=Path("site"), show_default=True, help="Where.")
def book(out: Path) -> None:
    """Build the lesson book: a site that works from a folder, without a network."""
    for module in ("jupytext", "latex2mathml", "mkdocs"):
        need(module, f"the book needs {module}: run `make book`")
    from grader.authoring.book.site import build_book

    build_book(load(), out)
    click.echo(f"wrote {show_path(out)}: open {show_path(out / 'index.html')} in a browser")


@click.group()
def dev() -> None:
    """Add a step (`new`), list what steps lack (`check`), and check the English (`english`)."""


@dev.command()
@click.argument("name")
def new(name: str) -> None:
    """Write every file of the next step, which is called like its first function."""
    from grader.authoring.step_files import KEYS, PREFACE_TEXT, STUDENT, write_skeleton

    for what, path in write_skeleton(load(), name):
        click.echo(f"wrote {path.relative_to(ROOT)}: {what}")
    click.echo("\nOnly if positions meet in a function, for its map of influence:")
    click.echo("  grader/checks/influence_inputs.py")
    click.echo("\nYou add the step to these, and to the maps of the course in its part:")
    for path in (KEYS, STUDENT, PREFACE_TEXT):
        click.echo(f"  {path.relative_to(ROOT)}")
    click.echo("\nNext: replace every TODO, then `make build`, and `python -m grader dev check`.")


@dev.command()
@click.argument("step", nargs=-1)
def check(step: tuple[str, ...]) -> None:
    """Report anything that is missing or inconsistent in the files of steps, one sentence each."""
    from grader.authoring.findings import find_in_kit, find_in_step

    registry = load()
    found = [said for one in find_steps(registry, step) for said in find_in_step(registry, one)]
    _list(found + find_in_kit(registry), "Nothing is missing.")


@dev.command()
def english() -> None:
    """List words and constructions that the rules for English forbid."""
    from grader.authoring.english import find_bad_english

    _list(find_bad_english(), "The English follows the rules.")


def _list(found: Iterable[str], otherwise: str) -> NoReturn:
    """Print what was found, and end with 1; say otherwise that it is nothing, and end with 0."""
    lines = [*found]
    for line in lines or [otherwise]:
        click.echo(line)
    sys.exit(1 if lines else 0)
