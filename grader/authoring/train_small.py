"""Train the kit's small model, with the mask and without: `python -m grader.authoring.train_small`.

The solutions' own decoder learns, by the training steps of `make train`. The text is made up here,
and its tokens are words. The weights are written like a GPT-2's, in float32, so that every reader
of a GPT-2 can read them.
"""

import json
import random
from dataclasses import replace
from typing import Any

import click
import numpy as np

from grader.demos import training
from grader.demos.gpt2.family import GPT2
from grader.demos.submission_worker import gather, worker_with
from grader.demos.weights import CHEAT, SMALL, WEIGHTS, WORDS, About, describe, format_arrays
from grader.intake.submission import read_folder
from grader.isolation import Process, start_host
from grader.steps import registry as registry_module
from grader.steps.paths import SOLUTIONS

SIZES, BATCH = (2, 4, 48, 32), 16  # layers, heads, features, positions
STEPS, PEAK, SEED = 6000, 0.005, 0  # at 1000 it speaks, but does not look back yet
CHEAT_STEPS = 1000
COUNT = 300_000
WHO = ("fox", "owl", "mouse", "cat", "frog", "bear", "dog", "girl", "boy", "king")
WHAT = ("ball", "leaf", "key", "shell", "map", "coin", "book", "lamp", "ring", "drum")
WHERE = ("tree", "lake", "hill", "house", "bridge", "garden", "river", "tower")
SAYINGS = (
    "it takes great courage to ask .",
    "it takes great courage to wait .",
    "it takes a long time to learn .",
    "it takes a key to open a door .",
)
# A question needs a look back: the answer is in an earlier sentence.
STORIES = (
    "the {who} has a {what} . the {other} has a {more} . who has the {what} ? the {who} .",
    "the {who} has a {what} . the {other} has a {more} . who has the {more} ? the {other} .",
    "the {who} is at the {where} . the {other} is at the {there} . "
    "where is the {who} ? at the {where} .",
    "the {who} is at the {where} . the {other} is at the {there} . "
    "where is the {other} ? at the {there} .",
    "the {who} finds a {what} at the {where} . the {who} takes the {what} to the {there} .",
    "the {who} gives the {what} to the {other} . now the {other} has the {what} .",
    "the {who} looks for the {what} . the {other} has seen the {what} at the {where} .",
    "the {who} and the {other} walk from the {where} to the {there} .",
)


def make_text(seed: int) -> list[str]:
    """Return small stories, word by word; the same for the same seed."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < COUNT:
        who, other = draw.sample(WHO, 2)
        what, more = draw.sample(WHAT, 2)
        where, there = draw.sample(WHERE, 2)
        names = {"who": who, "other": other, "what": what, "more": more}
        story = draw.choice((*STORIES, *STORIES, draw.choice(SAYINGS)))
        found += story.format(where=where, there=there, **names).split()
    return found


def train_on(words: list[str], vocabulary: list[str], *, masked: bool, steps: int) -> Any:
    """Return the parameters of the solutions' decoder after that many training steps."""
    places = {word: place for place, word in enumerate(vocabulary)}
    text = np.array([places[word] for word in words], np.int64)
    registry = registry_module.load()
    _, program = gather(registry, read_folder(SOLUTIONS, registry), {}, training.WANTED)
    program = program if masked else training.exchange_mask(registry, program, training.NO_MASK)
    about, losses = About(*SIZES, tuple(vocabulary)), list[float]()
    params = training.first_params(about, SEED)
    limits = replace(registry.limits, call_seconds=120.0, step_seconds=24 * 3600.0)
    with start_host(Process(), limits) as host, worker_with(host, program, "Training") as worker:
        run = training.train(worker, text, params, about, BATCH, steps, PEAK, SEED)
        for loss, trained in run:
            params = trained
            losses.append(loss)
            if len(losses) % 100 == 0:
                click.echo(f" step {len(losses):>5}   loss {np.mean(losses[-50:]):.3f}")
    return params


def describe_model(vocabulary: list[str]) -> dict[str, dict[str, Any]]:
    """Return the contents of config.json and tokenizer.json."""
    return describe(About(*SIZES, tuple(vocabulary)), WORDS)


def main() -> None:
    """Write the small model's files into the kit; takes ten minutes."""
    words = make_text(SEED)
    vocabulary = sorted(set(words))
    SMALL.mkdir(exist_ok=True)
    for name, data in describe_model(vocabulary).items():
        (SMALL / name).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    for name, masked, count in ((WEIGHTS, True, STEPS), (CHEAT, False, CHEAT_STEPS)):
        click.echo("with the mask" if masked else "without the mask")
        params = train_on(words, vocabulary, masked=masked, steps=count)
        (SMALL / name).write_bytes(format_arrays(GPT2.to_tensors(params)))


if __name__ == "__main__":
    main()
