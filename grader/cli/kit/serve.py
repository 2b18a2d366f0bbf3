"""The command `serve`: show the pages of a graded class, with forms for changes by hand."""

from __future__ import annotations

from pathlib import Path

import click

from grader.report.problem import Problem
from grader.steps import registry as registry_module


@click.command("serve")
@click.argument("graded", type=click.Path(path_type=Path), default=Path("graded"))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 takes any free one."
)
@click.option("--who", default="", help="Signs the changes; your login name by default.")
def serve(graded: Path, port: int, who: str) -> None:
    """Show the class in GRADED in a browser on this machine, and take changes by hand."""
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.serving import Desk, first_address, make_server, own_name

    desk = Desk(graded, registry_module.load(), who.strip() or own_name())
    try:
        with Gradebook(graded) as book:
            book.last()
            desk.rules(book)
        server = make_server(desk, port)
    except OSError as error:
        raise Problem(f"port {port} cannot be used: {error.strerror}") from None
    click.echo(f"Open {first_address(server, desk)}")
    click.echo("Give this address to nobody: it lets people change grades. Ctrl-C ends it.")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("No longer serving.")
    finally:
        server.server_close()
