"""The command `train`: train the student's own decoder on a small text."""

import contextlib
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from grader.cli.hosts import open_host
from grader.cli.options import PATH, SEED, html_option, submission_option
from grader.cli.paths import check_writable, read_submission, show_path
from grader.demos import training, weights
from grader.demos.submission_worker import gather, worker_with
from grader.demos.training import Tokens
from grader.demos.weights import About
from grader.isolation.client import Worker
from grader.notebooks.pictures import Curve, curves, plot
from grader.report.files import write_whole
from grader.report.html.page import template
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import registry as registry_module
from grader.steps.stubs import solutions
from grader.steps.tree import leaves

PEEKING = "peeking"
CHEAT = "cheat"  # the folder, in that of the honest one's weights, for the other's
LONGEST = 24 * 3600.0  # seconds that a whole training may take
PATIENCE = 120.0  # for one step
TELL_EVERY, SAMPLE_EVERY = 20, 100  # steps
KEPT = 20  # losses that a printed one is the mean of
UP = "loss, nats per character"


@click.command()
@click.option("--text", type=PATH, help="A file to learn; by default, short training.")
@click.option("--steps", type=click.IntRange(1), default=400, show_default=True)
@click.option("--layers", "n_layers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--heads", "n_heads", type=click.IntRange(1), default=4, show_default=True)
@click.option("--d-model", type=click.IntRange(1), default=64, show_default=True)
@click.option("--length", type=click.IntRange(2), default=64, show_default=True)
@click.option("--batch", type=click.IntRange(1), default=16, show_default=True)
@click.option("--lr", type=click.FloatRange(0, min_open=True), default=0.003, show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--out", type=PATH, default=Path("trained"), show_default=True)
@submission_option
@click.option("--cheat", is_flag=True, help="Beside it, train one that sees its answers.")
@html_option
def train(
    text: Path | None,
    steps: int,
    n_layers: int,
    n_heads: int,
    d_model: int,
    length: int,
    batch: int,
    lr: float,
    seed: int,
    out: Path,
    submission: Path,
    cheat: bool,
    html_file: Path | None,
) -> None:
    """Train your decoder on a small text, and let it write.

    Ctrl-C keeps the weights. The same command continues from them, with a new optimiser.
    """
    if html_file is not None:
        check_writable(html_file)
    if d_model % n_heads:
        raise Problem(f"--d-model is {d_model}, which --heads, {n_heads}, does not divide")
    read = training.stories(seed) if text is None else training.read_text(text)
    characters, tokens = training.prepare(read, length)
    about = About(n_layers, n_heads, d_model, length, characters)
    registry = registry_module.load()
    limits = replace(registry.limits, call_seconds=PATIENCE, step_seconds=LONGEST)
    printer = Printer()
    right = solutions(registry)
    parts, program = gather(registry, read_submission(submission, registry), right, training.WANTED)
    if missing := [step.id for step, why in parts.items() if why]:
        printer.line(f"not written yet, so the solutions': {', '.join(missing)}")
    programs = {"": program}
    if cheat:
        programs[PEEKING] = training.exchange_mask(registry, program, training.PEEKING)
        whose = "the solutions'" if right else "your"
        printer.line(
            f"beside it, {whose} decoder with a mask one place too wide: each position sees "
            "the token that it must predict"
        )
    plan = Plan(printer, tokens, about, batch, steps, lr, seed)
    models = [plan.start(name, out / CHEAT if name else out) for name in programs]
    with open_host(replace(registry, limits=limits)) as host, contextlib.ExitStack() as stack:
        for model, program in zip(models, programs.values()):
            model.worker = stack.enter_context(worker_with(host, program, "Training"))
        if cheat:
            params = training.first_params(about, seed)
            training.check_switch([model.worker for model in models], tokens, params, about)
        plan.take_steps(models)
    plan.tell_end(models, html_file)


@dataclass
class TrainedModel:
    """One of the models in training.

    losses: one for each step. honest: those when it cannot look ahead, by the number of the step.
    """

    name: str
    folder: Path
    params: Any
    about: About
    losses: list[float] = field(default_factory=list)
    honest: dict[int, float] = field(default_factory=dict)
    written: str = ""
    worker: Worker = field(init=False)

    def curves(self) -> list[Curve]:
        """Return the losses, each the mean of some for a readable curve, and the honest ones."""
        name = f"{self.name}, in training" if self.name else "your decoder, masked"
        ends = range(1, len(self.losses) + 1)
        smooth = [statistics.fmean(self.losses[max(0, end - KEPT) : end]) for end in ends]
        before = self.about.steps - len(self.losses)
        seen = Curve(name, [before + end for end in ends], smooth)
        name = f"{self.name}, when it must write"
        honest = Curve(name, [*self.honest], [*self.honest.values()])
        return [seen, honest] if self.honest else [seen]


@dataclass
class Plan:
    """How the models are trained: from the same weights, on the same batches."""

    printer: Printer
    text: Tokens
    about: About
    batch: int
    steps: int
    lr: float
    seed: int

    def start(self, name: str, folder: Path) -> TrainedModel:
        """Return a model with new weights, or with those that are already in the folder."""
        weights.check_folder(folder)
        if (folder / weights.CONFIG).exists():
            params, found = weights.load(folder)
            if replace(found, steps=0) != self.about:
                where = show_path(folder)
                raise Problem(
                    f"{where} holds weights of other sizes or characters: name another --out"
                )
            self.printer.line(
                f"continuing from {show_path(folder)}, after {found.steps} steps, with a new "
                "optimiser; the learning rate starts again as well, so the loss may rise at first"
            )
            return TrainedModel(name, folder, params, found)
        params, kinds = training.first_params(self.about, self.seed), len(self.about.words)
        number = sum(array.size for array in leaves(params))
        self.printer.line(
            f"{number:,} parameters, {len(self.text):,} characters of {kinds} "
            f"kind{'s' * (kinds != 1)}; guessing costs ln {kinds} = {math.log(kinds):.2f}"
        )
        return TrainedModel(name, folder, params, self.about)

    def take_steps(self, models: Sequence[TrainedModel]) -> None:
        """Take the steps, report them, and keep the weights however the training ends."""
        begun = time.monotonic()
        plan = self.batch, self.steps, self.lr
        ways = [
            training.train(
                *(one.worker, self.text, one.params, self.about), *plan, self.seed + one.about.steps
            )
            for one in models
        ]
        try:
            for number, taken in enumerate(zip(*ways), 1):
                for model, (loss, params) in zip(models, taken):
                    model.losses.append(loss)
                    model.params = params
                    model.about = replace(model.about, steps=model.about.steps + 1)
                left = (time.monotonic() - begun) / number * (self.steps - number)
                self._tell(models, number, left)
        except KeyboardInterrupt:
            self.printer.line("\nstopped")
        for model in models:
            if model.losses:
                weights.save(model.folder, model.params, model.about)
                name = " ".join(["the", *model.name.split(), "weights"])
                self.printer.line(
                    f"{name} are in {show_path(model.folder)}; the same command continues from them"
                )

    def _tell(self, models: Sequence[TrainedModel], number: int, left: float) -> None:
        """Print a line at regular intervals, and sometimes a sample of the models' writing."""
        masked, last = models[0].worker, number == self.steps
        if number % TELL_EVERY == 0 or number == 1 or last:
            told = "   ".join(
                f"{model.name} loss {statistics.fmean(model.losses[-KEPT:]):.3f}".lstrip()
                for model in models
            )
            self.printer.line(f" step {number:>5} of {self.steps}   {told}   {left:4.0f} s left")
            for model in models[1:]:  # they may look ahead, but not when they are asked
                loss = training.find_loss(masked, self.text, model.params, self.about, self.seed)
                model.honest[model.about.steps] = loss
        if number % SAMPLE_EVERY == 0 or last:
            for model in models:  # they can only look back: nothing follows the newest token
                begun = self.text[:1]
                model.written = training.write(masked, begun, model.params, self.about, self.seed)
                writes = f"{model.name}, it writes" if model.name else "it writes"
                self.printer.line(f"   {writes}: {model.written!r}")
                for loss in [*model.honest.values()][-1:]:
                    self.printer.line(f"   its loss where it cannot look ahead: {loss:.3f}")

    def tell_end(self, models: Sequence[TrainedModel], html_file: Path | None) -> None:
        """Draw the losses in letters and, if requested, on a page."""
        if len(models[0].losses) < 2:
            return
        drawn = [curve for model in models for curve in model.curves()]
        levels = [("guessing", math.log(len(self.about.words)))]
        self.printer.line()
        for row in plot("step", UP, drawn, levels).split("\n"):
            self.printer.row(row)
        if html_file is not None:
            data = {
                "svg": curves("Losses", "training step", UP, drawn, levels),
                "rows": [(line.name, line.x[-1], line.y[-1]) for line in drawn],
                "written": [(model.name, model.written) for model in models if model.written],
            }
            write_whole(html_file, [template("training.html").render(data).lstrip()])
            self.printer.line(f"\nwrote {html_file}")
