"""The commands `gpt2` and `llama`: run a published model on the student's own code."""

import contextlib
import re
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import SEED, submission_option
from grader.cli.paths import read_submission, show_path
from grader.demos.gpt2 import own, running, weights
from grader.demos.gpt2.family import FAMILIES
from grader.demos.gpt2.own import OwnCode
from grader.demos.gpt2.running import Choice, OwnDecoder, check_length, write_tokens
from grader.demos.training.weights import CHEAT, SMALL
from grader.intake.submission import Submission
from grader.isolation import Host, Process, start_host
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command, spell_install
from grader.steps.stubs import solutions

if TYPE_CHECKING:
    from grader.demos.gpt2.against import Model

NEEDED = "'nopeek[gpt2]'"
NEEDS = ("torch", "transformers", "safetensors", "huggingface_hub", "tokenizers")
OWN_MODELS = {"small": "The kit's small trained model", "tiny": "A tiny model"}
TINY = "a tiny one made here, its weights random, so its text makes no sense"
PATIENCE = 5.0  # seconds for the text without a cache
TOKENS, FEW_TOKENS = 60, 20  # to write by default; the second is for the kit's small model
# How freely to draw by default. At 0.8 the small model, which knows few words, forgets its stories.
TEMPERATURE, COOL = 0.8, 0.3
PROMPT = "the owl looks for the lamp . the fox has seen the"
MORAL = (
    "In training it saw each next word, and its loss was 0.03. Now the next word is not there to "
    "be seen."
)


Command = Callable[..., None]
OPTIONS = (
    click.option(
        "--weights",
        metavar="WHICH",
        help="A folder, a file, or a name on the hub; small and tiny are the kit's own models.",
    ),
    click.option("--prompt", help="The beginning of the text."),
    click.option(
        "--tokens", type=click.IntRange(1), help="How many tokens to write; by default, 60."
    ),
    click.option("--temperature", type=click.FloatRange(0), help="0 takes the most likely token."),
    click.option(
        "--top-k", type=click.IntRange(1), default=40, help="How many likely tokens to draw from."
    ),
    click.option("--seed", type=SEED, default=0, help="Seed for the draws."),
    submission_option,
)


def add_options(command: Command) -> Command:
    """Give a command the options that choose the model, the code and the text."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def run_model(
    name: str,
    weights: str | None,
    prompt: str | None,
    tokens: int | None,
    temperature: float | None,
    top_k: int,
    seed: int,
    submission: Path,
) -> None:
    """Compare a model on the student's code with transformers', then write a text with it.

    The trained model that the kit brings also writes a text without its mask.
    """
    lacking = [module for module in NEEDS if find_spec(module) is None]
    if lacking:
        raise Problem(f"`{name}` needs {', '.join(lacking)}: {spell_install(name, NEEDED)}")
    own = read_submission(submission, registry_module.load())  # before anything is downloaded

    try:
        with contextlib.closing(DemoRun(name)) as run:
            run.read(*run.find(weights))
            text = run.begin(prompt, tokens)
            if temperature is None:
                temperature = COOL if run.cheat else TEMPERATURE
            choice = Choice(temperature, top_k, seed)
            run.start(own)
            agreed = run.compare()
            if agreed:
                run.write(*text, choice)
            if agreed and run.cheat:
                run.printer.line("\nThe same, trained without its mask:", "bold")
                run.change_weights(run.cheat)
                run.write(*text, choice)
                run.printer.line(f"\n{MORAL}")
    except MemoryError:
        raise Problem("these weights need more memory than there is: name smaller ones") from None
    except KeyboardInterrupt:
        click.echo()  # the text may have stopped within a line
        raise Problem("stopped") from None
    sys.exit(0 if agreed else 1)


class DemoRun:
    """One run of the command: everything that it has loaded, to be closed together."""

    def __init__(self, name: str) -> None:
        self.family = FAMILIES[name]
        self.printer = Printer()
        self.cheat: Path | None = None  # weights trained without a mask, of the kit's small model
        self.column = 0  # of the text that is being written
        self.registry = registry_module.load()
        self.model: Model
        self.code: OwnCode
        self.host: Host
        self.decoder: OwnDecoder
        self.open = contextlib.ExitStack()

    def close(self) -> None:
        """End the workers, and what is shown of their work."""
        self.printer.rest()
        self.open.close()

    def find(self, name: str | None) -> tuple[Path | None, str]:
        """Return the file of the weights, or None for the tiny model, and its name in words.

        If the hub does not answer, a model of the kit stands in: the small one, if there is one.
        """
        wanted = name or self.family.hub_name
        try:
            if wanted not in OWN_MODELS:
                there = Path(wanted).expanduser().exists()
                file = weights.locate(wanted)
                return file, f"the weights in {show_path(file)}" if there else wanted
        except weights.NotThere:
            if name:
                raise
            there_is = "small" if self.family.title == "GPT-2" else "tiny"
            self.printer.line(
                f"{wanted} cannot be downloaded: is there a network? "
                f"{OWN_MODELS[there_is]} stands in for it."
            )
            wanted = there_is
        if wanted == "tiny":
            return None, TINY
        self.cheat = SMALL / CHEAT
        return weights.locate(str(SMALL)), "the kit's small trained model"

    def read(self, file: Path | None, which: str) -> None:
        """Load the model with its weights in that file, or the tiny one."""
        self.printer.line(f"{self.family.title}: {which}", "bold")
        self.printer.busy("reading the weights")
        from grader.demos.gpt2 import against

        family = self.family
        self.model = against.read(file, family) if file else against.make_tiny(family)
        network, config = self.model.network, self.model.config
        self.printer.line(
            f"{network.num_parameters():,} parameters: {config.num_hidden_layers} layers of "
            f"{config.num_attention_heads} heads, {config.hidden_size} features, a vocabulary of "
            f"{config.vocab_size:,}, texts of up to {config.max_position_embeddings:,} tokens"
        )

    def begin(self, prompt: str | None, n_new: int | None) -> tuple[str, list[int], int]:
        """Return the text's beginning, its tokens and how many to write, if there is room for them.

        A prompt of blanks only is empty. If nobody says how many to write, the room decides.
        """
        words, most = self.model.words, self.model.config.max_position_embeddings
        text = (PROMPT if self.cheat else words.begin()) if prompt is None else prompt
        ids = words.ids(text if text.strip() else "")
        if n_new is None:
            n_new = max(1, min(FEW_TOKENS if self.cheat else TOKENS, most - len(ids)))
        check_length(ids, n_new, most)
        if unknown := words.unknown(text):
            *others, last = [f'"{word}"' for word in unknown]
            named = f"{', '.join(others)} and {last}" if others else last
            self.printer.line(f'It does not know {named}, and reads "{words.blank}" for each.')
            self.printer.line(f"Its words: {' '.join(words.all())}", "dim")
        # The tokens of the small model are words, and bring no blank.
        return text + " " * bool(self.cheat), ids, n_new

    def start(self, submission: Submission) -> None:
        """Load the student's steps, print whose they are, and pass them the model's params."""
        limits = running.limits_for(self.registry.limits, 4 * self.model.network.num_parameters())
        self.host = self.open.enter_context(start_host(Process(), limits))
        right, wanted = solutions(self.registry), self.family.functions.wanted
        self.code = own.gather(self.registry, submission, right, wanted)
        self._whose()
        self._hand_over()

    def change_weights(self, file: Path) -> None:
        """Give the code other weights of the same sizes."""
        from grader.demos.gpt2 import against

        self.model = against.read(file, self.family)
        self.decoder.close()
        self._hand_over()

    def _hand_over(self) -> None:
        """Give the code the model's weights."""
        program, model = self.code.program, self.model
        self.printer.busy("sending the weights to the code")
        params, functions = model.params(), self.family.functions
        self.decoder = OwnDecoder(self.host, program, params, model.sizes, functions)
        self.open.callback(self.decoder.close)

    def _whose(self) -> None:
        """Print a line for every step that runs, with its author."""
        own = sum(part.own for part in self.code.parts)
        said = {
            0: "none of it yours yet",
            1: "one step yours",
            len(self.code.parts): "all of it yours",
        }
        which = said.get(own, f"{own} steps yours")
        self.printer.line(f"\nThe code that runs it, {which}:", "bold")
        for part in self.code.parts:
            row = f"{part.step.number:>2}  {part.step.title:<20} "
            if part.own:
                self.printer.row(f" + {row}yours", "green")
            else:
                self.printer.row(f" - {row}the solution's ({part.why})", "dim")

    def compare(self) -> bool:
        """Print and return whether the decoder agrees with transformers' model."""
        from grader.demos.gpt2.agreement import findings

        room = self.model.config.max_position_embeddings
        ids = self.model.words.sample()[:room]
        say = self.printer.line
        say(f"\nAgainst transformers, the same weights, {len(ids)} tokens:", "bold")
        self.printer.busy("comparing")
        agreed, notes = True, set()
        for finding in findings(self.decoder, self.model, ids, room - len(ids)):
            sign, style = (" + ", "green") if finding.ok else (" x ", "red")
            say(f"{sign}{finding.what}: {finding.said}", style)
            self.printer.busy("comparing")
            agreed = agreed and finding.ok
            notes.add(finding.note)
        for note in sorted(notes - {""}):
            say(f"\n{note}")
        if not agreed:
            look = spell_command("check")
            say(f"\nThey differ, so nothing is written. `{look}` looks at each step alone.")
        return agreed

    def write(self, prompt: str, ids: Sequence[int], n_new: int, choice: Choice) -> None:
        """Print the text as it is written, and its speed with the cache and without."""
        first, again = list[tuple[int, float]](), list[tuple[int, float]]()
        self.printer.line()
        self._put(prompt, bold=True)
        stream = self.model.words.streaming()
        try:
            for token, seconds in write_tokens(self.decoder, ids, n_new, choice):
                first.append((token, seconds))
                if token == self.model.config.eos_token_id:
                    break
                self._put(stream(token))
        finally:  # the next output begins a line, even a message
            self._put("\n\n")
        self.printer.line(f"With the cache: {_speed(first)}.")
        until = time.monotonic() + PATIENCE
        self.printer.busy("writing it again without the cache")
        for pair in write_tokens(self.decoder, ids, len(first), choice, cache=False):
            again.append(pair)
            if time.monotonic() > until:
                break
        same = all(one == other for (one, _), (other, _) in zip(first, again))
        word = "the same tokens" if same else "other tokens, which should be the same"
        self.printer.line(f"Without it: {_speed(again)}; {word}.")

    def _wrap(self, text: str) -> str:
        """Return the text with a line's end in place of a blank before a word that does not fit."""
        parts = re.findall(r"\n| ?[^ \n]+| ", text)
        for place, part in enumerate(parts):
            if part.startswith(" ") and self.column + len(part) > self.printer.width:
                parts[place] = part = "\n" + part[1:]
            ended = "\n" in part
            self.column = len(part) - 1 if ended else self.column + len(part)
        return "".join(parts)

    def _put(self, text: str, bold: bool = False) -> None:
        """Print text without characters that would move the cursor."""
        file = self.printer.file
        shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
        shown = self._wrap(shown) if self.printer.terminal else shown
        encoding = getattr(file, "encoding", None) or "utf-8"
        shown = shown.encode(encoding, "replace").decode(encoding)
        shown = click.style(shown, bold=True) if bold else shown
        click.echo(shown, file=file, nl=False, color=self.printer.color)


def _speed(written: Sequence[tuple[int, float]]) -> str:
    """Say how fast tokens came; the first needs the prompt to be read."""
    first, *rest = [seconds for _, seconds in written]
    after = f"{first:.2f} s" if first >= 1 else f"{first * 1e3:.3g} ms"
    said = f"{len(written)} token{'s' * bool(rest)}, the first after {after}"
    return said + (f", then {len(rest) / sum(rest):,.1f} per second" if rest else "")


@click.command()
@add_options
def gpt2(**given: Any) -> None:
    """Run GPT-2 on your own decoder: compares it with transformers, then writes a text.

    The default is the model gpt2 from the hub. If the hub cannot be reached, it is the kit's own
    small model.
    """
    run_model("gpt2", **given)


@click.command()
@add_options
def llama(**given: Any) -> None:
    """Run a Llama on your own code, and compare it with transformers.

    The default is a small model from the hub. If the hub cannot be reached, it is a tiny model with
    random weights, made here.
    """
    run_model("llama", **given)
