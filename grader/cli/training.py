"""`train`: the student's own decoder learns a small text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.hosting import hosts
from grader.cli.paths import read_submission, show_path
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.paths import EXERCISES

if TYPE_CHECKING:
    from grader.demos.training.run import Sizes
    from grader.demos.training.stories import Text
    from grader.isolation import Host
    from grader.report.text.terminal import Printer

LONGEST = 24 * 3600.0  # seconds that a whole training may take
PATIENCE = 120.0  # for one step
TELL_EVERY = 20
KEPT = 20  # losses that a printed one is the mean of


@click.command()
@click.option(
    "--text", type=click.Path(path_type=Path), help="A file to learn; by default, short stories."
)
@click.option("--steps", type=click.IntRange(1), default=400, show_default=True)
@click.option("--layers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--heads", type=click.IntRange(1), default=4, show_default=True)
@click.option("--d-model", type=click.IntRange(1), default=64, show_default=True)
@click.option("--length", type=click.IntRange(2), default=64, show_default=True)
@click.option("--batch", type=click.IntRange(1), default=16, show_default=True)
@click.option("--lr", type=click.FloatRange(0, min_open=True), default=0.003, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--sample-every", type=click.IntRange(1), default=100, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("trained"), show_default=True)
@click.option("--submission", type=click.Path(path_type=Path), default=EXERCISES)
@click.option("--cheat", is_flag=True, help="Train the solutions' decoder without its mask.")
def train(
    text: Path | None,
    steps: int,
    layers: int,
    heads: int,
    d_model: int,
    length: int,
    batch: int,
    lr: float,
    seed: int,
    sample_every: int,
    out: Path,
    submission: Path,
    cheat: bool,
) -> None:
    """Train your decoder on a small text, and let it write.

    Ctrl-C keeps the weights. The same command goes on from them, with a new optimiser.
    """
    if d_model % heads:
        raise Problem(f"--d-model is {d_model}, which --heads, {heads}, does not divide")
    from grader.demos.loaded import NotReady
    from grader.demos.training import run, stories
    from grader.report.text.terminal import Printer

    sizes = run.Sizes(layers, heads, d_model, length, batch)
    words = stories.prepare(
        stories.stories(seed) if text is None else stories.read_text(text), length
    )
    registry = registry_module.load()
    patient = replace(
        registry, limits=replace(registry.limits, call_seconds=PATIENCE, step_seconds=LONGEST)
    )
    printer = Printer()
    own, missing = run.modules(registry, read_submission(submission, registry))
    try:
        masked = own
        if cheat:
            own = run.without_mask(registry)
            printer.line("training without the causal mask, on the solutions")
        elif missing:
            printer.line(f"not written yet, so the solutions': {', '.join(missing)}")
        with hosts(patient, "auto", 1) as (host,):
            _run_training(
                printer, host, own, masked, words, sizes, steps, lr, seed, sample_every, out
            )
    except NotReady as error:
        raise Problem(str(error)) from None


def _run_training(
    printer: Printer,
    host: Host,
    own: Mapping[str, tuple[str, str]],
    masked: Mapping[str, tuple[str, str]],
    words: Text,
    sizes: Sizes,
    steps: int,
    lr: float,
    seed: int,
    sample_every: int,
    out: Path,
) -> None:
    """Take the steps, tell of them, and keep the weights whatever ends them."""
    from grader.demos.training import run, weights

    params, about = _start(printer, out, words, sizes, seed)
    before, losses, seconds = about.steps, [], 0.0
    try:
        with run.trainer(host, own) as worker:
            for step in run.train(worker, words, params, sizes, steps, lr, seed + before):
                params, about = step.params, replace(about, steps=before + step.number)
                losses.append(step.loss)
                seconds += step.seconds
                if step.number % TELL_EVERY == 0 or step.number in (1, steps):
                    mean = sum(losses[-KEPT:]) / len(losses[-KEPT:])
                    left = seconds / step.number * (steps - step.number)
                    printer.line(
                        f" step {step.number:>5} of {steps}   loss {mean:.3f}   {left:4.0f} s left"
                    )
                if step.number % sample_every == 0 or step.number == steps:
                    # Who writes can look back only: there is nothing ahead of the newest token.
                    written = run.write(host, masked, words.tokens[:1], params, sizes, seed)
                    printer.line(f"   it writes: {words.decode(written)!r}")
                    if own is not masked:
                        honest = run.honest_loss(host, masked, words, params, sizes, seed)
                        printer.line(f"   its loss where it cannot look ahead: {honest:.3f}")
    except KeyboardInterrupt:
        printer.line("\nstopped")
    if about.steps > before:
        weights.save(out, params, about)
        printer.line(f"the weights are in {show_path(out)}; the same command goes on from them")


def _start(printer: Printer, out: Path, words: Text, sizes: Sizes, seed: int) -> tuple[Any, Any]:
    """Return the parameters to begin with: new ones, or those that are in the folder already."""
    from grader.demos.training import run, weights

    params = run.first_params(sizes, len(words.characters), seed)
    layers, heads, d_model = sizes.n_layers, sizes.n_heads, sizes.d_model
    about = weights.About(layers, heads, d_model, sizes.length, words.characters)
    number = sum(array.size for array in weights.flatten(params).values())
    if (out / weights.ABOUT).exists():
        arrays, found = weights.load(out)
        if replace(found, steps=0) != about:
            raise Problem(
                f"{show_path(out)} holds weights of other sizes or characters: name another --out"
            )
        printer.line(
            f"going on from {show_path(out)}, after {found.steps} steps, with a new optimiser"
        )
        return weights.refill(params, arrays), found
    printer.line(
        f"{number:,} parameters, {len(words.tokens):,} characters, {len(words.characters)} kinds"
    )
    return params, about
