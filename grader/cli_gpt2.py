"""`gpt2`: the student's own decoder runs GPT-2."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from grader import registry as registry_module
from grader.problem import Problem

if TYPE_CHECKING:
    from grader.gpt2.own import Code
    from grader.gpt2.running import Decoder
    from grader.gpt2.tokens import Words
    from grader.gpt2.weights import Model
    from grader.gpt2.writing import Choice, Timed
    from grader.registry import Registry
    from grader.submission import Submission
    from grader.terminal import Printer

NEEDS = ("torch", "transformers", "safetensors", "huggingface_hub", "tokenizers", "platformdirs")
HUB_NAME = "openai-community/gpt2"
PROMPT = "A model that writes reads from left to right. At every place it asks"
MOST_COMPARED = 32  # tokens of the text that is compared with transformers
PATIENCE = 5.0  # seconds for the text without a cache


@click.command()
@click.option("--weights", metavar="WHICH", help="A folder, a file, or a model's name on the hub.")
@click.option("--tiny", is_flag=True, help="The tiny random model that the kit makes itself.")
@click.option("--prompt", default=PROMPT, help="How the text begins.")
@click.option("--tokens", type=click.IntRange(1), default=60, help="How many to write.")
@click.option("--temperature", type=click.FloatRange(0), default=0.8, help="0 takes the likeliest.")
@click.option("--top-k", type=click.IntRange(1), default=40, help="How many are drawn from.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of the draws.")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    default=registry_module.ROOT / "exercises",
    help="Whose steps run; the exercises if not given.",
)
@click.option("--float64", "double", is_flag=True, help="Compute in float64 instead of float32.")
@click.option("--no-cache", is_flag=True, help="Read the whole text again for every token.")
def gpt2(
    weights: str | None,
    tiny: bool,
    prompt: str,
    tokens: int,
    temperature: float,
    top_k: int,
    seed: int,
    submission: Path,
    double: bool,
    no_cache: bool,
) -> None:
    """Runs GPT-2 on your own decoder: compares it with transformers, then writes a text.

    Without --weights it is the model gpt2 from the hub, and where that cannot be had a tiny one
    with random weights, made here.
    """
    _need()
    if tiny and weights is not None:
        raise Problem("--tiny is a model of its own: leave out --weights")
    from grader.gpt2.tokens import Words
    from grader.gpt2.weights import TOKENIZER
    from grader.gpt2.writing import Choice, check_length
    from grader.terminal import Printer

    printer = Printer()
    with _said():
        model = _model(printer, "" if tiny else weights or HUB_NAME, given=weights is not None)
        words = Words(model.folder / TOKENIZER, model.config.vocabulary)
        ids = words.ids(prompt)
        check_length(ids, tokens, model.config.t_max)
        dtype = np.float64 if double else np.float32
        with _decoder(printer, model, submission, dtype) as decoder:
            agreed = _compare(printer, decoder, model, words, dtype)
            if agreed:
                page = Page(printer, words)
                page.write(decoder, prompt, ids, tokens, Choice(temperature, top_k, seed), not no_cache)
    sys.exit(0 if agreed else 1)


def _need() -> None:
    """Says how to get the libraries, where one is not installed."""
    from importlib.util import find_spec

    lacking = [name for name in NEEDS if find_spec(name) is None]
    if lacking:
        raise Problem(
            f"GPT-2 needs {', '.join(lacking)}: run `make gpt2`, or pip install 'nopeek[gpt2]'"
        )


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Turns what may go wrong on the way into one sentence."""
    from grader.gpt2.problems import CodeFailed, Gpt2Error
    from grader.sandbox import SandboxError

    try:
        yield
    except (Gpt2Error, CodeFailed, SandboxError) as error:
        raise Problem(str(error)) from None
    except MemoryError:
        raise Problem("these weights need more memory than there is: name smaller ones") from None
    except OSError as error:
        raise Problem(f"{error.filename or 'a file'}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise Problem("stopped") from None


def _model(printer: Printer, name: str, given: bool) -> Model:
    """The model of that name, the tiny one for ""; that one too where the hub's cannot be had."""
    from grader.gpt2 import weights
    from grader.gpt2.problems import NotThere

    try:
        file = weights.located(name) if name else None
    except NotThere:
        if given:
            raise
        printer.line(f"{name} cannot be downloaded (no network?), so a tiny model stands in.")
        file = None
    model = weights.read(file or _tiny())
    which = f"the weights in {file}" if given else name
    config = model.config
    printer.line(f"GPT-2: {which if file else 'a tiny one with random weights, made here'}", "bold")
    printer.line(
        f"{config.n_layers} layers, {config.n_heads} heads, d_model {config.d_model}, "
        f"{config.vocabulary:,} tokens, {model.parameters / 1e6:,.1f} million parameters"
    )
    return model


def _tiny() -> Path:
    from grader.gpt2 import tiny, weights

    return tiny.cached() / weights.WEIGHTS


@contextlib.contextmanager
def _decoder(
    printer: Printer, model: Model, folder: Path, dtype: type[np.floating[Any]]
) -> Iterator[Decoder]:
    """The student's decoder with the model's params; says first whose steps it is made of."""
    from grader import grading, sandbox
    from grader.gpt2 import names, own, running

    registry = registry_module.load()
    submission = _submitted(folder, registry)
    params = names.to_params(model.tensors, model.config, dtype)
    size = model.parameters * np.dtype(dtype).itemsize
    limits = running.limits_for(registry.limits, size)
    with sandbox.host(sandbox.Process(), limits) as host:
        code = own.gathered(host, registry, submission, grading.solutions(registry))
        _whose(printer, code)
        program = code.program(own.wanted(registry))
        with contextlib.closing(
            running.Decoder(host, program, params, model.config.n_heads)
        ) as decoder:
            yield decoder


def _submitted(folder: Path, registry: Registry) -> Submission:
    from grader.submission import SubmissionError, read_folder

    try:
        if folder.is_file():
            from grader.intake import entries

            return entries.read(entries.alone(folder), registry)
        return read_folder(folder, registry)
    except SubmissionError as error:
        raise Problem(str(error)) from None


def _whose(printer: Printer, code: Code) -> None:
    """A line for every step that runs."""
    printer.line("\nThe code that runs it:", "bold")
    for part in code.parts:
        step = part.step
        row = f"{step.number:>2}  {step.title:<20} "
        if part.own:
            printer.row(f" + {row}yours", "green")
        else:
            printer.row(f" - {row}the solution's: {part.why}", "dim")


def _compare(
    printer: Printer,
    decoder: Decoder,
    model: Model,
    words: Words,
    dtype: type[np.floating[Any]],
) -> bool:
    """Says whether the decoder does what transformers' GPT-2 does; whether that is so."""
    from grader.gpt2.agreement import findings
    from grader.gpt2.against import Gpt2
    from grader.gpt2.tiny import TEXT

    room = model.config.t_max
    ids = words.ids(TEXT)[: min(MOST_COMPARED, room)]
    printer.line(
        f"\nAgainst transformers on the same weights, {len(ids)} tokens, {np.dtype(dtype).name}:",
        "bold",
    )
    agreed = True
    for finding in findings(decoder, Gpt2(model, dtype), ids, room - len(ids)):
        sign, style = (" + ", "green") if finding.ok else (" x ", "red")
        printer.line(f"{sign}{finding.what}: {finding.said}", style)
        agreed = agreed and finding.ok
    if not agreed:
        printer.line("\nThey differ, so nothing is written. `make check` looks at each step alone.")
    return agreed


class Page:
    """Where a text is written as it comes."""

    def __init__(self, printer: Printer, words: Words) -> None:
        self.printer = printer
        self.words = words

    def write(
        self,
        decoder: Decoder,
        prompt: str,
        ids: Sequence[int],
        n_new: int,
        choice: Choice,
        cache: bool,
    ) -> None:
        """Writes the text, and says how fast that was, with the cache and without."""
        from grader.gpt2.writing import Timed, written

        first, again = Timed(), Timed()
        self.printer.line()
        self._put(prompt, bold=True)
        stream = self.words.streaming()
        for token in written(decoder, ids, n_new, choice, first, cache=cache):
            self._put(stream.text(token))
        self._put("\n")
        if cache:
            until = time.monotonic() + PATIENCE
            for _ in written(decoder, ids, n_new, choice, again, cache=False):
                if time.monotonic() > until:
                    break
        self._speeds(first, again, cache)

    def _put(self, text: str, bold: bool = False) -> None:
        """Text as it is, but for what would move the cursor."""
        shown = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
        encoding = getattr(self.printer.file, "encoding", None) or "utf-8"
        shown = shown.encode(encoding, "replace").decode(encoding)
        click.echo(
            click.style(shown, bold=True) if bold else shown,
            file=self.printer.file,
            nl=False,
            color=self.printer.color,
        )

    def _speeds(self, first: Timed, again: Timed, cache: bool) -> None:
        say = self.printer.line
        say()
        say(f"{'With' if cache else 'Without'} the cache: {_speed(first)}")
        if again.ids:
            same = first.ids[: len(again.ids)] == again.ids
            word = "the same" if same else "others, which should be the same"
            say(f"Without it: {_speed(again)}, {word}.")


def _speed(timed: Timed) -> str:
    count = len(timed.ids)
    said = f"{count} token{'s' * (count > 1)}, the first after {timed.seconds[0]:.2f} s"
    return said + (f", then {timed.rate:,.1f} per second" if timed.rate else "")
