"""The command `explore`: show on a page what the learner's decoder does with given words."""

from __future__ import annotations

import contextlib
import itertools
import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.hosts import hosts
from grader.cli.paths import read_submission, show_path, write_text
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.paths import EXERCISES
from grader.steps.registry import Registry

if TYPE_CHECKING:
    from grader.isolation import Host

# The small model writes sentences, but does not recall who has what: ask it for no facts.
PROMPT = "the owl looks for the lamp . the fox has seen the"


@click.command()
@click.option("--prompt", default=PROMPT, help="The words to begin with.")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    default=EXERCISES,
    help="Whose steps run; by default, the exercises.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path),
    help="Write a page for these words that needs no server.",
)
def explore(
    prompt: str, submission: Path, port: int, no_browser: bool, html_file: Path | None
) -> None:
    """Show what your own decoder does with your own words, in a browser.

    A small trained model runs on your steps. The page shows the attention weights of every head,
    the next word, what leaks, and how the cache fills. When you save a file, it follows.
    """
    registry = registry_module.load()
    with hosts(registry, "auto", 1) as (host,):
        if html_file is not None:
            _write_page(host, registry, submission, prompt, html_file)
            return
        _serve(host, registry, submission, prompt, port, open_browser=not no_browser)


def _answer(
    host: Host, registry: Registry, submission: Path, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return what the page shows for a question, or the problem in one sentence."""
    from grader.demos.explorer.measure import Request, read_words
    from grader.demos.explorer.measure import explore as measure
    from grader.demos.gpt2.small import load_small
    from grader.demos.submission_worker import NotReady

    small = load_small()
    masked = asked.get("masked")
    layers = small.config.n_layers
    if not isinstance(masked, list) or len(masked) != layers:
        masked = [True] * layers
    try:
        words = read_words(str(asked.get("prompt", "")), small)
        request = Request(words, tuple(map(bool, masked)), bool(asked.get("cheat")))
        return measure(host, registry, read_submission(submission, registry), small, request)
    except NotReady as error:
        return {"problem": str(error)}
    except Problem as problem:
        return {"problem": problem.message}


def _begin(
    host: Host, registry: Registry, submission: Path, prompt: str, version: str
) -> dict[str, Any]:
    """Return the data that the page starts with."""
    from grader.demos.gpt2.small import load_small

    small = load_small()
    masked = [True] * small.config.n_layers
    data = _answer(host, registry, submission, {"prompt": prompt, "masked": masked})
    return {
        "code": f"The code in {show_path(submission)}",
        "prompt": prompt,
        "known": list(small.words),
        "version": version,
        "first": {"masked": masked, "data": data, "problem": data.get("problem", "")},
    }


def _write_page(host: Host, registry: Registry, submission: Path, prompt: str, file: Path) -> None:
    """Write a page that holds the answers for every switch."""
    from grader.demos.explorer.server import make_page

    start = _begin(host, registry, submission, prompt, "")
    if start["first"]["problem"]:
        raise Problem(start["first"]["problem"])
    layers = len(start["first"]["masked"])
    sets = {}
    for *masked, cheat in itertools.product([True, False], repeat=layers + 1):
        asked = {"prompt": prompt, "masked": masked, "cheat": cheat}
        key = json.dumps([masked, cheat], separators=(",", ":"))
        sets[key] = _answer(host, registry, submission, asked)
    write_text(file, make_page({**start, "sets": sets}))
    click.echo(f"wrote {file}")


def _serve(
    host: Host,
    registry: Registry,
    submission: Path,
    prompt: str,
    port: int,
    *,
    open_browser: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    from grader.demos.explorer.server import Explorer

    def find_version() -> str:
        """Return a value that changes when one of the learner's files does."""
        paths = [submission / step.filename for step in registry.steps]
        marks = []
        for path in paths if submission.is_dir() else [submission]:
            with contextlib.suppress(OSError):
                found = path.stat()
                marks.append(f"{path.name} {found.st_mtime_ns} {found.st_size}")
        return "|".join(marks)

    version = find_version()
    start = _begin(host, registry, submission, prompt, version)
    try:
        server = Explorer(
            port,
            lambda asked: _answer(host, registry, submission, asked),
            find_version,
            start,
        )
    except OSError as error:
        raise Problem(f"cannot listen on port {port}: {error.strerror}") from None
    with server:
        click.echo(f"The explorer is at {server.url}\nCtrl-C ends it.")
        if open_browser:
            webbrowser.open(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.1)
    click.echo("\nThe explorer has ended.")
