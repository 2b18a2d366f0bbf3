"""The commands `leakmap` and `costs`: draw what a missing mask and a cache do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.hosts import open_host
from grader.cli.paths import read_submission, write_text
from grader.report.problem import Problem, find_steps
from grader.steps import registry as registry_module
from grader.steps.paths import EXERCISES, SOLUTIONS
from grader.steps.registry import Registry

if TYPE_CHECKING:
    from grader.demos.costs import Growth
    from grader.intake.submission import Submission
    from grader.report.text.terminal import Printer

SENTENCE = "It takes great courage to ask"
MOST_TOKENS, MOST_LAYERS = 12, 12

_whose = click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="Whose code: a folder of step files, a zip of one, or a notebook. "
    "By default, the solutions' or, without solutions, the exercises'.",
)
_page = click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a page.")


def _choose_code(path: Path | None, registry: Registry) -> Submission:
    """Return the requested code, or the solutions."""
    path = path or (SOLUTIONS if SOLUTIONS.is_dir() else EXERCISES)
    found = read_submission(path, registry)
    return replace(found, id=f"{found.id}/") if path.is_dir() else found


def write_page(printer: Printer, path: Path, text: str) -> None:
    """Write a page and report it. Raise Problem if it cannot be written."""
    write_text(path, text)
    printer.line(f"\nwrote {path}")


def _layer(unmasked: str, layers: int) -> int | None:
    """Return the number of the layer without a mask, or None for `none`."""
    if unmasked == "none":
        return None
    if not unmasked.isdecimal() or not int(unmasked) < layers:
        raise Problem(f"--unmasked takes a layer's number from 0 to {layers - 1}, or none")
    return int(unmasked)


def _draw_own(path: Path | None, name: str, html_file: Path | None) -> None:
    """Draw the maps of the learner's own functions of a step."""
    registry = registry_module.load()
    (step, *more) = find_steps(registry, (name,))
    with open_host(registry) as host:
        from grader.demos.leak_maps import draw_own, list_mapped, measure_own
        from grader.report.text import terminal
        from grader.report.text.sheet import Sheet

        mapped = list_mapped(registry)
        if more or step not in mapped:
            numbers = ", ".join(str(one.number) for one in mapped)
            raise Problem(f"a map is drawn of one of the steps {numbers}")
        maps = measure_own(host, registry, read_submission(path or EXERCISES, registry), step)
    printer = terminal.Printer()
    sheet = Sheet(printer.width, printer.plain)
    sheet.line(f"Who listens to whom in your step {step.number}, {step.title}", "bold")
    for one in maps:
        sheet.gap()
        sheet.line(one.function, "bold")
        draw_own(sheet, one)
    printer.sheet(sheet)
    if html_file is not None:
        from grader.demos.leak_maps import own_page

        write_page(printer, html_file, own_page(step, maps))


@click.command()
@click.argument("step", required=False)
@_whose
@click.option("--layers", type=click.IntRange(1, MOST_LAYERS), default=3, show_default=True)
@click.option(
    "--unmasked", metavar="K|none", help="Which layer has no mask, counted from 0; the second."
)
@click.option("--tokens", help=f"The text, word by word: {SENTENCE}.")
@_page
def leakmap(
    step: str | None,
    submission: Path | None,
    layers: int,
    unmasked: str | None,
    tokens: str | None,
    html_file: Path | None,
) -> None:
    """Draw what one layer without a mask lets through.

    Replace one token after another, and see which positions move in every layer's output. With a
    STEP, from 5 on, draw your own functions of that step instead.
    """
    if step is not None:
        _draw_own(submission, step, html_file)
        return
    words = (SENTENCE if tokens is None else tokens).split()
    if not 2 <= len(words) <= MOST_TOKENS:
        raise Problem(f"--tokens takes from 2 to {MOST_TOKENS} words, got {len(words)}")
    layer = _layer(unmasked or str(min(1, layers - 1)), layers)
    registry = registry_module.load()
    found = _choose_code(submission, registry)
    with open_host(registry) as host:
        from grader.demos.leak_maps import draw_stack, measure_stack
        from grader.report.text import terminal
        from grader.report.text.sheet import Sheet

        stack = measure_stack(host, registry, found, words, layers, layer)
    printer = terminal.Printer()
    sheet = Sheet(printer.width, printer.plain)
    draw_stack(sheet, stack)
    printer.sheet(sheet)
    if html_file is not None:
        from grader.demos.leak_maps import stack_page

        write_page(printer, html_file, stack_page(stack))


@click.command()
@_whose
@click.option(
    "--longest",
    type=click.IntRange(64, 2048),
    default=512,
    show_default=True,
    help="Measure powers of two up to this many tokens.",
)
@_page
def costs(submission: Path | None, longest: int, html_file: Path | None) -> None:
    """Count what the next token costs, with a cache and without.

    Count multiplications and measure time, in sequences of growing length.
    """
    registry = registry_module.load()
    found = _choose_code(submission, registry)
    with open_host(registry) as host:
        from grader.demos import costs
        from grader.report.text import terminal
        from grader.report.text.sheet import Sheet

        printer = terminal.Printer()
        rows: list[costs.GrowthRow] = []
        for row in costs.rows(host, registry, found, longest):
            sheet = Sheet(printer.width, printer.plain)
            if not rows:
                costs.heading(sheet, found.id, costs.MODEL)
            costs.table_row(sheet, row)
            printer.sheet(sheet)
            rows.append(row)
    if rows[-1].length * 2 <= longest:
        printer.line(f"Longer texts take more than {registry.limits.call_seconds:g} seconds here.")
    _show_growth(printer, costs.Growth(found.id, costs.MODEL, tuple(rows)), html_file)


def _show_growth(printer: Printer, growth: Growth, html_file: Path | None) -> None:
    """Draw the multiplications, and say what they show."""
    from grader.demos.costs import NAMES, describe_growth, growth_page
    from grader.notebooks.pictures import Curve, curves, plot

    lengths = [row.length for row in growth.rows]
    counts = zip(*((row.whole.products, row.cached.products) for row in growth.rows))
    lines = [Curve(name, lengths, products) for name, products in zip(NAMES, counts)]
    words = ("tokens so far", "multiplications for one token")
    printer.line()
    for line in plot(*words, lines).split("\n"):
        printer.row(line)
    for sentence in describe_growth(growth):
        printer.line(f"\n{sentence}")
    if html_file is not None:
        svg = curves("What the next token costs", *words, lines, [])
        write_page(printer, html_file, growth_page(growth, svg))
