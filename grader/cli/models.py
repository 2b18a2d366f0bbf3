"""The commands `gpt2` and `llama`: run a published model on the student's own code."""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import SEED, submission_option
from grader.cli.paths import read_submission, show_path
from grader.demos import weights
from grader.demos.gpt2.family import FAMILIES
from grader.demos.gpt2.running import OwnDecoder
from grader.demos.submission_worker import gather, worker_with
from grader.demos.weights import CHEAT, SMALL
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.isolation.client import Program, Worker
from grader.report.problem import Problem
from grader.report.sanitize import visible
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command, spell_install
from grader.steps.registry import Limits, Step, load
from grader.steps.stubs import solutions

if TYPE_CHECKING:
    from grader.demos.gpt2.against import Model

NEEDED = "'nopeek[gpt2]'"
NEEDS = ("torch", "transformers", "safetensors", "huggingface_hub", "tokenizers")
OWN_MODELS = {"small": "The kit's small trained model", "tiny": "A tiny model"}
TINY = "a tiny one made here, its weights random, so its text makes no sense"
CALL_SECONDS, ALL_SECONDS = 600.0, 24 * 3600.0
PATIENCE = 5.0  # seconds for the text without a cache
COMPARED = 32  # tokens of the sequence for comparisons
TOKENS, FEW_TOKENS = 60, 20  # to write by default; the second is for the kit's small model
# How freely to draw by default. At 0.8 the small model, which knows few words, forgets its stories.
TEMPERATURE, COOL = 0.8, 0.3
PROMPT = "the owl looks for the lamp . the fox has seen the"
MORAL = (
    "In training it saw each next word, and its loss was 0.03. Now the next word is not there to "
    "be seen."
)


def run_model(
    name: str,
    weights: str | None,
    prompt: str | None,
    tokens: int | None,
    submission: Path,
    **choice: Any,
) -> None:
    """Compare a model on the student's code with transformers', then write a text with it.

    The trained model that the kit brings also writes a text without its mask.
    """
    lacking = [module for module in NEEDS if find_spec(module) is None]
    if lacking:
        raise Problem(f"`{name}` needs {', '.join(lacking)}: {spell_install(name, NEEDED)}")
    run = DemoRun(name, choice)
    own = read_submission(submission, run.registry)  # before anything is downloaded
    try:
        run.read(*run.find(weights))
        agreed = run.run(own, *run.begin(prompt, tokens))
    except MemoryError:
        raise Problem("these weights need more memory than there is: name smaller ones") from None
    except KeyboardInterrupt:
        click.echo()  # the text may have stopped within a line
        raise Problem("stopped") from None
    finally:
        run.printer.rest()
    sys.exit(0 if agreed else 1)


class DemoRun:
    """One run of the command. choice: the rule that takes the next token from the logits."""

    def __init__(self, name: str, choice: dict[str, Any]) -> None:
        self.family, self.choice = FAMILIES[name], choice
        self.printer = Printer()
        self.cheat: Path | None = None  # weights trained without a mask, of the kit's small model
        self.column = 0  # of the text that is being written
        self.registry = load()
        self.model: Model

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
        network, config = self.model.network, self.model.network.config
        self.printer.line(
            f"{network.num_parameters():,} parameters: {config.num_hidden_layers} layers of "
            f"{config.num_attention_heads} heads, {config.hidden_size} features, a vocabulary of "
            f"{config.vocab_size:,}, texts of up to {config.max_position_embeddings:,} tokens"
        )

    def begin(self, prompt: str | None, n_new: int | None) -> tuple[str, list[int], int]:
        """Return the text's beginning, its tokens and how many to write, if there is room for them.

        A prompt of blanks only is empty. If nobody says how many to write, the room decides.
        """
        model, most = self.model, self.model.network.config.max_position_embeddings
        text = (PROMPT if self.cheat else model.begin()) if prompt is None else prompt
        ids = model.ids(text if text.strip() else "")
        room = most - len(ids)
        if not ids:
            raise Problem("the prompt is empty: begin a text with --prompt")
        if room < 1:
            raise Problem(
                f"the prompt has {len(ids):,} tokens, and the model reads no more than {most:,}, "
                "what it writes included: shorten it"
            )
        if n_new is not None and n_new > room:
            raise Problem(
                f"the model reads no more than {most:,} tokens, and the prompt has {len(ids):,} of "
                f"them: ask for --tokens {room} at most"
            )
        if unknown := model.list_unknown(text):
            *others, last = [f'"{word}"' for word in unknown]
            named = f"{', '.join(others)} and {last}" if others else last
            self.printer.line(f'It does not know {named}, and reads "{model.blank}" for each.')
            self.printer.line(f"Its words: {' '.join(model.list_words())}", "dim")
        if self.choice["temperature"] is None:
            self.choice["temperature"] = COOL if self.cheat else TEMPERATURE
        n_new = n_new or min(FEW_TOKENS if self.cheat else TOKENS, room)
        # The tokens of the small model are words, and bring no blank.
        return text + " " * bool(self.cheat), ids, n_new

    def run(self, submission: Submission, prompt: str, ids: list[int], n_new: int) -> bool:
        """Run the model on the student's code, and return whether it agrees with transformers'."""
        right, wanted = solutions(self.registry), (*self.family.functions, "sample_token")
        parts, program = gather(self.registry, submission, right, wanted)
        self._say_whose(parts)
        # Room for the params in float32, the logits and the caches.
        memory = 4096 + 12 * self.model.network.num_parameters() // 2**20
        limits = Limits(CALL_SECONDS, ALL_SECONDS, memory)
        what = "The import of the steps"
        with start_host(Process(), limits) as host, worker_with(host, program, what) as worker:
            decoder = self._hand_over(worker, program)
            agreed = self.compare(decoder)
            if agreed:
                self.write(decoder, prompt, ids, n_new)
            if agreed and self.cheat:
                from grader.demos.gpt2 import against

                self.printer.line("\nThe same, trained without its mask:", "bold")
                self.model = against.read(self.cheat, self.family)
                self.write(self._hand_over(worker, program), prompt, ids, n_new)
                self.printer.line(f"\n{MORAL}")
        return agreed

    def _say_whose(self, parts: Mapping[Step, str]) -> None:
        """Print a line for every step that runs, with its author."""
        own = sum(not why for why in parts.values())
        said = {0: "none of it yours yet", 1: "one step yours", len(parts): "all of it yours"}
        which = said.get(own, f"{own} steps yours")
        self.printer.line(f"\nThe code that runs it, {which}:", "bold")
        for step, why in parts.items():
            row = f"{step.number:>2}  {step.title:<20} "
            if why:
                self.printer.row(f" - {row}the solution's ({why})", "dim")
            else:
                self.printer.row(f" + {row}yours", "green")

    def _hand_over(self, worker: Worker, program: Program) -> OwnDecoder:
        """Return the decoder of that code with the model's weights."""
        self.printer.busy("sending the weights to the code")
        params, sizes = self.model.params(), self.model.sizes
        return OwnDecoder(worker, program, params, sizes, self.family.functions)

    def compare(self, decoder: OwnDecoder) -> bool:
        """Print and return whether the decoder agrees with transformers' model."""
        from grader.demos.gpt2.against import findings

        config = self.model.network.config
        room, vocabulary = config.max_position_embeddings, config.vocab_size
        ids = [7 * place % vocabulary for place in range(min(COMPARED, room))]
        say = self.printer.line
        say(f"\nAgainst transformers, the same weights, {len(ids)} tokens:", "bold")
        self.printer.busy("comparing")
        agreed, notes = True, set()
        for what, found in findings(decoder, self.model, ids, room - len(ids)):
            sign, style = (" + ", "green") if found.ok else (" x ", "red")
            say(f"{sign}{what}: {found.said}", style)
            self.printer.busy("comparing")
            agreed = agreed and found.ok
            notes.add(found.note)
        for note in sorted(notes - {""}):
            say(f"\n{note}")
        if not agreed:
            look = spell_command("check")
            say(f"\nThey differ, so nothing is written. `{look}` looks at each step alone.")
        return agreed

    def write(self, decoder: OwnDecoder, prompt: str, ids: Sequence[int], n_new: int) -> None:
        """Print the text as it is written, and its speed with the cache and without."""
        first, again = list[tuple[int, float]](), list[tuple[int, float]]()
        self.printer.line()
        self._put(prompt, bold=True)
        stream = self.model.stream()
        try:
            for token, seconds in decoder.write(ids, n_new, cached=True, **self.choice):
                first.append((token, seconds))
                if token == self.model.network.config.eos_token_id:
                    break
                self._put(stream(token))
        finally:  # the next output begins a line, even a message
            self._put("\n\n")
        self.printer.line(f"With the cache: {_say_speed(first)}.")
        until = time.monotonic() + PATIENCE
        self.printer.busy("writing it again without the cache")
        for pair in decoder.write(ids, len(first), cached=False, **self.choice):
            again.append(pair)
            if time.monotonic() > until:
                break
        same = all(one == other for (one, _), (other, _) in zip(first, again))
        word = "the same tokens" if same else "other tokens, which should be the same"
        self.printer.line(f"Without it: {_say_speed(again)}; {word}.")

    def _put(self, text: str, bold: bool | None = None) -> None:
        """Print text without characters that would move the cursor.

        On a terminal, a line's end replaces a blank before a word that does not fit.
        """
        shown = self.printer.spell(visible(text))
        parts = re.findall(r"\n| ?[^ \n]+| ", shown)
        for place, part in enumerate(parts if self.printer.terminal else ()):
            if part.startswith(" ") and self.column + len(part) > self.printer.width:
                parts[place] = part = "\n" + part[1:]
            self.column = len(part) - 1 if "\n" in part else self.column + len(part)
        click.echo(
            click.style("".join(parts), bold=bold),
            file=self.printer.file,
            nl=False,
            color=self.printer.color,
        )


def _say_speed(written: Sequence[tuple[int, float]]) -> str:
    """Say how fast tokens came; the first needs the prompt to be read."""
    first, *rest = [seconds for _, seconds in written]
    after = f"{first:.2f} s" if first >= 1 else f"{first * 1e3:.3g} ms"
    said = f"{len(written)} token{'s' * bool(rest)}, the first after {after}"
    return said + (f", then {len(rest) / sum(rest):,.1f} per second" if rest else "")


def _make_command(name: str, about: str) -> click.Command:
    """Return the command that runs a family's models. about: its help."""

    @click.command(name, help=about)
    @click.option(
        "--weights",
        metavar="WHICH",
        help="A folder, a file, or a name on the hub; small and tiny are the kit's own models.",
    )
    @click.option("--prompt", help="The beginning of the text.")
    @click.option(
        "--tokens", type=click.IntRange(1), help="How many tokens to write; by default, 60."
    )
    @click.option("--temperature", type=click.FloatRange(0), help="0 takes the most likely token.")
    @click.option(
        "--top-k", type=click.IntRange(1), default=40, help="How many likely tokens to draw from."
    )
    @click.option("--seed", type=SEED, default=0, help="Seed for the draws.")
    @submission_option
    def command(**given: Any) -> None:
        run_model(name, **given)

    return command


gpt2 = _make_command(
    "gpt2",
    """Run GPT-2 on your own decoder: compares it with transformers, then writes a text.

    The default is the model gpt2 from the hub. If the hub cannot be reached, it is the kit's own
    small model.
    """,
)
llama = _make_command(
    "llama",
    """Run a Llama on your own code, and compare it with transformers.

    The default is a small model from the hub. If the hub cannot be reached, it is a tiny model with
    random weights, made here.
    """,
)
