"""The commands `leakmap` and `costs`: draw what a missing mask and a cache do."""

from dataclasses import replace
from pathlib import Path

import click

from grader.cli.hosts import open_host
from grader.cli.options import PATH, html_option
from grader.cli.paths import read_submission
from grader.demos import leak_maps
from grader.demos.costs import LONGEST, MODEL, NAMES, GrowthRow, describe_growth, rows
from grader.intake.submission import Submission
from grader.notebooks.pictures import Curve, plot
from grader.report.files import write_whole
from grader.report.html.page import template
from grader.report.problem import Problem, find_steps
from grader.report.text.sheet import Sheet, clean
from grader.report.text.terminal import Printer
from grader.steps.paths import EXERCISES, SOLUTIONS
from grader.steps.registry import Registry, load

SENTENCE = "It takes great courage to ask"
LAYERS = 3
COLUMNS = "{:>8}{:>20}{:>20}{:>14}"  # of the costs

_whose = click.option(
    "--submission",
    type=PATH,
    help="Whose code: a folder of step files, a zip of one, or a notebook. "
    "By default, the solutions' or, without solutions, the exercises'.",
)


def _choose_code(path: Path | None, registry: Registry) -> Submission:
    """Return the requested code, or the solutions."""
    path = path or (SOLUTIONS if SOLUTIONS.is_dir() else EXERCISES)
    found = read_submission(path, registry)
    return replace(found, id=f"{found.id}/") if path.is_dir() else found


@click.command()
@click.argument("step", required=False)
@_whose
@click.option(
    "--unmasked",
    type=click.Choice([*map(str, range(LAYERS)), "none"]),
    default="1",
    show_default=True,
    help="Which of three layers has no mask.",
)
@html_option
def leakmap(
    step: str | None, submission: Path | None, unmasked: str, html_file: Path | None
) -> None:
    """Draw what one layer without a mask lets through.

    Replace one token after another, and see which positions move in every layer's output. With a
    STEP, from 5 on, draw your own functions of that step instead.
    """
    registry, printer = load(), Printer()
    if step is not None:
        page = _draw_own(printer, registry, submission or EXERCISES, step)
    else:
        found = _choose_code(submission, registry)
        layer = None if unmasked == "none" else int(unmasked)
        with open_host(registry) as host:
            stack = leak_maps.measure_stack(host, registry, found, SENTENCE.split(), LAYERS, layer)
        leak_maps.draw_stack(printer, stack)
        page = leak_maps.stack_page(stack)
    if html_file is not None:
        write_whole(html_file, [page])
        printer.line(f"\nwrote {html_file}")


def _draw_own(sheet: Sheet, registry: Registry, path: Path, name: str) -> str:
    """Draw the maps of the learner's own functions of a step, and return their page."""
    (step, *more) = find_steps(registry, (name,))
    mapped = leak_maps.list_mapped(registry)
    if more or step not in mapped:
        numbers = ", ".join(str(one.number) for one in mapped)
        raise Problem(f"a map is drawn of one of the steps {numbers}")
    with open_host(registry) as host:
        maps = leak_maps.measure_own(host, registry, read_submission(path, registry), step)
    title = f"Who listens to whom in your step {step.number}, {step.title}"
    sheet.line(title, "bold")
    for one in maps:
        sheet.gap()
        sheet.line(one.function, "bold")
        leak_maps.draw_own(sheet, one)
    return template("own_maps.html").render(title=title, maps=maps).lstrip()


@click.command()
@_whose
def costs(submission: Path | None) -> None:
    """Count what the next token costs, with a cache and without.

    Count multiplications, in sequences of growing length.
    """
    registry = load()
    found = _choose_code(submission, registry)
    with open_host(registry) as host:
        printer, measured = Printer(), list[GrowthRow]()
        for row in rows(host, registry, found):
            if not measured:
                code = clean(found.id)
                printer.line(f"What the next token costs, with the decoder in {code}", "bold")
                printer.line(f"({MODEL}; the multiplications that NumPy makes)")
                printer.gap()
                printer.row(COLUMNS.format("tokens", *NAMES, "times more"))
            more = f"{row.whole / row.cached:.1f}" if row.cached else ""
            printer.row(COLUMNS.format(row.length, f"{row.whole:,}", f"{row.cached:,}", more))
            measured.append(row)
    if measured[-1].length < LONGEST:
        printer.line(f"Longer texts take more than {registry.limits.call_seconds:g} seconds here.")
    lengths = [row.length for row in measured]
    counts = zip(*((row.whole, row.cached) for row in measured))
    lines = [Curve(name, lengths, products) for name, products in zip(NAMES, counts)]
    printer.line()
    for line in plot("tokens so far", "multiplications for one token", lines).split("\n"):
        printer.row(line)
    for sentence in describe_growth(measured):
        printer.line(f"\n{sentence}")
