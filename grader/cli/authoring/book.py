"""The command `book`: build the lessons, the guides and the questions as a site."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.paths import show_path
from grader.report.problem import need
from grader.steps import registry as registry_module


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True, help="Where."
)
def book(out: Path) -> None:
    """Build the lesson book: a site that works from a folder, without a network."""
    for module in ("jupytext", "latex2mathml", "mkdocs"):
        need(module, f"the book needs {module}: run `make book`")
    from grader.authoring.book.site import build_book

    build_book(registry_module.load(), out)
    click.echo(f"wrote {show_path(out)}: open {show_path(out / 'index.html')} in a browser")
