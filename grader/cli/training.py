"""The command `train`: train the student's own decoder on a small text."""

import contextlib
import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from grader.cli.hosts import open_host
from grader.cli.options import PATH, SEED, html_option, submission_option
from grader.cli.paths import check_writable, read_submission, show_path
from grader.demos.gpt2.own import OwnCode, gather
from grader.demos.training import run, stories, weights
from grader.demos.training.run import Losses, Sizes, Taken
from grader.demos.training.stories import Text
from grader.demos.training.weights import About
from grader.isolation import Host
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
UP = "loss, nats per character"


@click.command()
@click.option("--text", type=PATH, help="A file to learn; by default, short stories.")
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
    lr: float,
    seed: int,
    out: Path,
    submission: Path,
    cheat: bool,
    html_file: Path | None,
    **given: int,
) -> None:
    """Train your decoder on a small text, and let it write.

    Ctrl-C keeps the weights. The same command continues from them, with a new optimiser.
    """
    if html_file is not None:
        check_writable(html_file)
    sizes = Sizes(**given)
    if sizes.d_model % sizes.n_heads:
        raise Problem(
            f"--d-model is {sizes.d_model}, which --heads, {sizes.n_heads}, does not divide"
        )
    read = stories.stories(seed) if text is None else stories.read_text(text)
    words = stories.prepare(read, sizes.length)
    registry = registry_module.load()
    limits = replace(registry.limits, call_seconds=PATIENCE, step_seconds=LONGEST)
    printer = Printer()
    own = gather(registry, read_submission(submission, registry), solutions(registry), run.WANTED)
    if missing := [part.step.id for part in own.parts if not part.own]:
        printer.line(f"not written yet, so the solutions': {', '.join(missing)}")
    codes = {"": own}
    if cheat:
        codes[PEEKING] = run.exchange_mask(registry, own, run.PEEKING)
        whose = "the solutions'" if solutions(registry) else "your"
        printer.line(
            f"beside it, {whose} decoder with a mask one place too wide: each position sees "
            "the token that it must predict"
        )
    plan = Plan(printer, words, sizes, steps, lr, seed)
    with open_host(replace(registry, limits=limits)) as host:
        for name, code in codes.items():
            plan.start(name, code, out / CHEAT if name else out)
        if cheat:
            params = run.first_params(sizes, len(words.characters), seed)
            run.check_switch(host, (own, codes[PEEKING]), words, params, sizes)
        plan.take_steps(host, own)
        plan.tell_end(html_file)


@dataclass
class TrainedModel:
    """One of the models in training. honest: its losses when it cannot look ahead."""

    name: str
    code: OwnCode
    folder: Path
    params: Any
    about: About
    losses: Losses
    honest: Losses
    written: str = ""


@dataclass
class Plan:
    """The models to train, and how; they start with the same weights and see the same batches."""

    printer: Printer
    text: Text
    sizes: Sizes
    steps: int
    lr: float
    seed: int
    models: list[TrainedModel] = field(default_factory=list)

    def start(self, name: str, code: OwnCode, folder: Path) -> None:
        """Start a model, from new weights or from those that are already in the folder."""
        weights.check_folder(folder)
        sizes, kinds = self.sizes, len(self.text.characters)
        params: Any = run.first_params(sizes, kinds, self.seed)
        about = About(
            sizes.n_layers, sizes.n_heads, sizes.d_model, sizes.length, tuple(self.text.characters)
        )
        if (folder / weights.CONFIG).exists():
            params, found = weights.load(folder)
            if replace(found, steps=0) != about:
                where = show_path(folder)
                raise Problem(
                    f"{where} holds weights of other sizes or characters: name another --out"
                )
            about = found
            self.printer.line(
                f"continuing from {show_path(folder)}, after {found.steps} steps, with a new "
                "optimiser; the learning rate starts again as well, so the loss may rise at first"
            )
        else:
            number = sum(array.size for array in leaves(params))
            self.printer.line(
                f"{number:,} parameters, {len(self.text.tokens):,} characters of {kinds} "
                f"kind{'s' * (kinds != 1)}; guessing costs ln {kinds} = {math.log(kinds):.2f}"
            )
        losses = Losses(f"{name}, in training" if name else "your decoder, masked")
        honest = Losses(f"{name}, when it must write")
        self.models.append(TrainedModel(name, code, folder, params, about, losses, honest))

    def take_steps(self, host: Host, masked: OwnCode) -> None:
        """Take the steps, report them, and keep the weights however the training ends."""
        before = [model.about.steps for model in self.models]
        seconds = 0.0
        try:
            with contextlib.ExitStack() as stack:
                ways = []
                for model, start in zip(self.models, before):
                    steps = self._train(host, model, start)
                    ways.append(stack.enter_context(contextlib.closing(steps)))
                for number, taken in enumerate(zip(*ways), 1):
                    seconds += sum(step.seconds for step in taken)
                    self._tell(host, masked, number, seconds)
        except KeyboardInterrupt:
            self.printer.line("\nstopped")
        for model, start in zip(self.models, before):
            if model.about.steps > start:
                weights.save(model.folder, model.params, model.about)
                name = " ".join(["the", *model.name.split(), "weights"])
                self.printer.line(
                    f"{name} are in {show_path(model.folder)}; the same command continues from them"
                )

    def _train(self, host: Host, model: TrainedModel, start: int) -> Generator[Taken, None, None]:
        """Train one of the models, and note its progress step by step."""
        size = (self.steps, self.lr, self.seed + start)
        taken = run.train(host, model.code, self.text, model.params, self.sizes, *size)
        for step in taken:
            model.params = step.params
            model.about = replace(model.about, steps=start + step.number)
            model.losses.add(start + step.number, step.loss)
            yield step

    def _tell(self, host: Host, masked: OwnCode, number: int, seconds: float) -> None:
        """Print a line at regular intervals, and sometimes a sample of the models' writing."""
        last = number == self.steps
        if number % TELL_EVERY == 0 or number == 1 or last:
            left = seconds / number * (self.steps - number)
            told = "   ".join(
                f"{model.name} loss {model.losses.recent:.3f}".lstrip() for model in self.models
            )
            self.printer.line(f" step {number:>5} of {self.steps}   {told}   {left:4.0f} s left")
            for model in self.models[1:]:  # they may look ahead, but not when they are asked
                loss = run.honest_loss(host, masked, self.text, model.params, self.sizes, self.seed)
                model.honest.add(model.about.steps, loss)
        if number % SAMPLE_EVERY == 0 or last:
            for model in self.models:
                self._let_write(host, masked, model)

    def _let_write(self, host: Host, masked: OwnCode, model: TrainedModel) -> None:
        """Write a sample. The model can only look back: nothing follows the newest token."""
        begun = self.text.tokens[:1]
        ids = run.write(host, masked, begun, model.params, self.sizes, self.seed)
        model.written = self.text.decode(ids)
        writes = f"{model.name}, it writes" if model.name else "it writes"
        self.printer.line(f"   {writes}: {model.written!r}")
        if model.honest.values:
            self.printer.line(
                f"   its loss where it cannot look ahead: {model.honest.values[-1]:.3f}"
            )

    def tell_end(self, html_file: Path | None) -> None:
        """Draw the losses in letters and, if requested, on a page."""
        lines = [model.losses.smooth() for model in self.models]
        lines += [model.honest for model in self.models]
        lines = [line for line in lines if line.values]
        if len(lines[0].values if lines else ()) < 2:
            return
        self.printer.line()
        drawn = [Curve(line.name, line.steps, line.values) for line in lines]
        levels = [("guessing", math.log(len(self.text.characters)))]
        for row in plot("step", UP, drawn, levels).split("\n"):
            self.printer.line(row)
        if html_file is not None:
            self._write_page(html_file, drawn, levels)

    def _write_page(self, path: Path, drawn: list[Curve], levels: list[tuple[str, float]]) -> None:
        data = {
            "svg": curves("Losses", "training step", UP, drawn, levels),
            "rows": [(line.name, line.x[-1], line.y[-1]) for line in drawn],
            "written": [(model.name, model.written) for model in self.models if model.written],
        }
        write_whole(path, [template("training.html").render(data).lstrip()])
        self.printer.line(f"\nwrote {path}")
