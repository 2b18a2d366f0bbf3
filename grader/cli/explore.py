"""The command `explore`: show on a page what the learner's functions do with given words."""

import contextlib
import functools
import itertools
import json
import webbrowser
from pathlib import Path
from typing import Any

import click

from grader.cli.hosts import open_host
from grader.cli.options import PORT, browser_option, html_option, submission_option
from grader.cli.paths import read_submission, show_path
from grader.demos.explorer import measure
from grader.demos.explorer.server import Ask, Explorer, make_page
from grader.isolation import Host
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.registry import Registry, load


@click.command()
@click.option("--prompt", help="The words to begin with.")
@submission_option
@click.option("--port", type=PORT, default=0, help="Where to listen.")
@browser_option
@html_option
def explore(
    prompt: str | None, submission: Path, port: int, no_browser: bool, html_file: Path | None
) -> None:
    """Show what your own functions do with your own words, in a browser.

    A small trained model runs on your steps, from step 2 on. The page goes from the words to the
    next word, down to one multiplication, and shows what leaks. When you save a file, it follows.
    """
    registry = load()
    with open_host(registry) as host:
        ask = functools.partial(_answer, host, registry, submission)
        if html_file is not None:
            _write_page(ask, submission, prompt, html_file)
            return
        find_version = functools.partial(_find_version, submission)
        start = _begin(ask, submission, prompt, find_version())
        with Explorer(port, ask, find_version, start) as server:
            click.echo(f"The explorer is at {server.url}\nCtrl-C ends it.")
            if not no_browser:
                webbrowser.open(server.url)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever(poll_interval=0.1)
    click.echo("\nThe explorer has ended.")


def _answer(
    host: Host, registry: Registry, submission: Path, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return what the page shows for a question, or the problem in one sentence."""
    try:
        return measure.explore(host, registry, read_submission(submission, registry), asked)
    except Problem as problem:
        return {"problem": problem.message}


def _begin(ask: Ask, submission: Path, prompt: str | None, version: str) -> dict[str, Any]:
    """Return the data that the page starts with."""
    data = ask({"prompt": prompt})
    models = measure.load_models()
    first = models[data.get("model", "layer")]
    return {
        "code": f"The code in {show_path(submission)}",
        "prompt": first.prompt if prompt is None else prompt,
        "models": [
            {
                **{"name": model.name, "title": model.title, "prompt": model.prompt},
                **{"layers": model.layers, "heads": model.heads, "known": list(model.words)},
                "masked": [True] * model.layers,
            }
            for model in models.values()
        ],
        "version": version,
        "first": {
            **{"model": first.name, "masked": [True] * first.layers, "data": data},
            "problem": data.get("problem", ""),
        },
    }


def _write_page(ask: Ask, submission: Path, prompt: str | None, file: Path) -> None:
    """Write a page that holds the answers for every switch."""
    start = _begin(ask, submission, prompt, "")
    first = start["first"]
    if first["problem"]:
        raise Problem(first["problem"])
    sets = {}
    for *masked, cheat in itertools.product([True, False], repeat=len(first["masked"]) + 1):
        asked = {"prompt": prompt, "model": first["model"], "masked": masked, "cheat": cheat}
        key = json.dumps([masked, cheat], separators=(",", ":"))
        sets[key] = ask(asked)
    write_whole(file, [make_page({**start, "sets": sets})])
    click.echo(f"wrote {file}")


def _find_version(submission: Path) -> str:
    """Return a value that changes when one of the learner's files does."""
    paths = sorted(submission.glob("*.py")) if submission.is_dir() else [submission]
    with contextlib.suppress(OSError):
        found = [(path.name, path.stat()) for path in paths]
        return "|".join(f"{name} {one.st_mtime_ns} {one.st_size}" for name, one in found)
    return ""  # a file has just vanished
