"""The command `serve`: show the pages of a graded class, with forms for changes by hand."""

import contextlib
import os
from pathlib import Path

import click

from grader.classroom.gradebook import Gradebook
from grader.classroom.serving import HOST, Desk, make_server
from grader.cli.options import PATH, PORT


@click.command("serve")
@click.argument("graded", type=PATH, default=Path("graded"))
@click.option("--port", type=PORT, default=0, help="The port; 0 takes any free one.")
@click.option("--who", default="", help="Signs the changes; your login name by default.")
def serve(graded: Path, port: int, who: str) -> None:
    """Show the class in GRADED in a browser on this machine, and take changes by hand."""
    desk = Desk(graded, who.strip() or os.environ.get("USER", "instructor"))
    with Gradebook(graded) as book:
        desk.rules(book)
    with make_server(desk, port) as server:
        click.echo(f"Open http://{HOST}:{server.server_port}/?key={desk.key}")
        click.echo("Give this address to nobody: it lets people change grades. Ctrl-C ends it.")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    click.echo("No longer serving.")
