"""Let the functions of Part I write a story, on a model of step 6's form that the kit has trained.

`grader/authoring/train_writer.py` made the model: one layer of attention, tokens that are words.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.submission_worker import NotReady, program_of, step_of, worker_with
from grader.demos.weights import read_arrays
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.registry import Registry

FOLDER = Path(__file__).with_name("small")
WEIGHTS, ABOUT = "writer.safetensors", "writer.json"
PROMPT, SEED = "the owl", 1
TEMPERATURE = 0.5
Generate = Callable[..., Any]


@dataclass(frozen=True)
class StoryWriter:
    """The model: its words, and `params` of step 6 from a training with the mask and without.

    stories: how many it has read. cheat: the loss, in training, of the one without a mask.
    """

    words: tuple[str, ...]
    stories: int
    cheat: float
    with_mask: dict[str, Any]
    without_mask: dict[str, Any]


@cache
def load_writer() -> StoryWriter:
    """Return the kit's model."""
    about = json.loads((FOLDER / ABOUT).read_text(encoding="utf-8"))
    params: dict[str, dict[str, Any]] = {"with_mask": {}, "without_mask": {}}
    for name, array in read_arrays((FOLDER / WEIGHTS).read_bytes()):
        model, _, key = name.partition(".")
        params[model][key] = array.astype(np.float64)
    return StoryWriter(tuple(about["words"]), about["stories"], about["cheat"], **params)


def read_words(text: str, known: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the words of a text. Raise NotReady for none, too many, or an unknown one."""
    words = tuple(re.findall(r"\w+|[^\w\s]", text.lower()))
    if not 0 < len(words) <= most:
        raise NotReady(f"You typed {len(words)} words: type from 1 to {most}.")
    if unknown := [repr(word[:40]) for word in dict.fromkeys(words) if word not in known]:
        named = ", ".join(unknown[:8])
        raise NotReady(f"The model does not know {named}. Its words: {' '.join(known)}")
    return words


def write_stories(generate: Generate, prompt: str = PROMPT, seed: int = SEED) -> dict[str, str]:
    """Return the story that generate writes with each model, by a sentence on the model.

    Raise NotReady if the prompt cannot be read or generate does not return a whole text.
    """
    writer = load_writer()
    length = len(writer.with_mask["position"])
    begun = [writer.words.index(word) for word in read_words(prompt, writer.words, length - 1)]
    u = np.random.RandomState(seed).random_sample(length - len(begun))
    size = sum(array.size for array in writer.with_mask.values())
    heads = {
        "Written by your functions of steps 1 to 8. The model has one layer and "
        f"{size:,} numbers, and learned from {writer.stories:,} "
        "small stories": writer.with_mask,
        "By the same model, trained without its mask": writer.without_mask,
    }
    found, look = {}, spell_command("check", 8)
    for head, params in heads.items():
        ids = np.asarray(generate(np.array(begun), len(u), params, temperature=TEMPERATURE, u=u))
        if ids.shape != (length,) or ids.dtype.kind not in "iu":
            raise NotReady(f"generate must return {length} token ids: see `{look}`.")
        if ids.min() < 0 or ids.max() >= len(writer.words):
            raise NotReady(f"generate returned ids outside the vocabulary: see `{look}`.")
        found[head] = format_story(writer.words[token] for token in ids)
    return found


def tell(
    host: Host, registry: Registry, submission: Submission, prompt: str = PROMPT, seed: int = SEED
) -> dict[str, str]:
    """Return what `write_stories` returns for a submission's own generate and earlier steps."""
    home = step_of(registry, "generate")
    program = program_of(registry, submission, [*registry.before(home), home])
    with worker_with(host, program, "Writing") as worker:
        return write_stories(
            lambda *given, **named: worker.call("generate", [*given], named).value, prompt, seed
        )


def say_moral() -> str:
    """Return what the two stories show."""
    return (
        "In training the second saw each next word, and its loss fell to "
        f"{load_writer().cheat:.2f}. Now the next word is not there to be seen."
    )


def show_stories(
    host: Host,
    registry: Registry,
    submission: Submission,
    printer: Printer,
    prompt: str = PROMPT,
    seed: int = SEED,
) -> None:
    """Print both stories, and what they show. Raise NotReady if the submission cannot write."""
    for head, story in tell(host, registry, submission, prompt, seed).items():
        printer.line(f"\n{head}:", "bold")
        printer.line(story, indent=2)
    printer.line(f"\n{say_moral()}")


def format_story(words: Iterable[str]) -> str:
    """Return words as sentences.

    >>> format_story("the owl sings . it is night .".split())
    'The owl sings. It is night.'
    """
    text = re.sub(r" (?=[.,?])", "", " ".join(words))
    return re.sub(r"(^|[.?] )(\w)", lambda found: found[1] + found[2].upper(), text)
