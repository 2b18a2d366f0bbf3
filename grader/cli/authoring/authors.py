"""The commands for contributors: `build` and `proof`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from grader.cli.hosts import open_host
from grader.report.problem import Problem, find_steps, need, need_torch
from grader.steps import registry as registry_module
from grader.steps.paths import ROOT
from grader.steps.registry import Step

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

    registry = registry_module.load()
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
@click.option("--all", "everything", is_flag=True, help="List each one, not only the failures.")
@click.option("--causes", is_flag=True, help="Count how many mistakes are named instead.")
def proof(
    step: tuple[str, ...], suite: str, seed: int | None, everything: bool, causes: bool
) -> None:
    """Show that known mistakes fail and fair variants pass."""
    from grader.answer_key.variants import FAIR, MISTAKES, read
    from grader.authoring import proof
    from grader.engine import grading
    from grader.report.text import terminal

    registry = registry_module.load()
    steps = find_steps(registry, step)
    if suite == "hidden":
        need_torch()
    seed = grading.fresh_seed() if seed is None else seed
    printer = terminal.Printer()
    if causes:
        need_torch()
        sys.exit(0 if _causes(printer, steps, suite, seed) else 1)

    def show(finding: proof.Finding) -> None:
        if everything or not finding.ok:
            printer.line(proof.line(finding))

    good = True
    printer.line(proof.HEADER)
    with open_host(registry) as host:
        for chosen in steps:
            grader = grading.make_grader(registry, host, suite, seed, [chosen], thorough=False)
            every = [one for folder in (MISTAKES, FAIR) for one in read(folder, chosen)]
            findings = proof.prove(grader, chosen, every, show)
            printer.line(proof.row(chosen, findings))
            good = good and all(finding.ok for finding in findings)
    printer.line()
    printer.line(f"{suite} checks, seed {seed}")
    sys.exit(0 if good else 1)


def _causes(printer: Printer, steps: tuple[Step, ...], suite: str, seed: int) -> bool:
    """Print the figures of the diagnosis, and return whether they meet their targets."""
    from grader.authoring import accuracy_table

    good = True
    printer.row(accuracy_table.HEADER)
    try:
        for found in accuracy_table.all_figures(steps, suite, seed, os.cpu_count() or 1):
            for line in filter(None, map(accuracy_table.explain_outcome, found.outcomes)):
                printer.line(line)
            printer.row(found.row)
            good = good and found.kept
    except KeyboardInterrupt:
        raise Problem("stopped before the end") from None
    printer.line(f"\n{accuracy_table.LEGEND}\n\n{suite} checks, seed {seed}")
    return good
