"""Take training steps with a submission's decoder, one after another, in a worker.

The texts are small made-up stories, or any file; characters are tokens.
"""

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.submission_worker import NotReady, right_modules, step_of
from grader.demos.weights import About
from grader.isolation.client import Program, Worker
from grader.report.problem import Problem
from grader.steps.commands import spell_command
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.registry import Registry
from grader.steps.tree import walk

Tokens = NDArray[np.int64]
WANTED = (
    *("train_step", "new_adamw", "sample_batch", "learning_rate"),
    *("decoder_loss", "decoder_generate"),
)
ASKED = 16  # windows of the text, for a loss without training
# Another causal_mask, up to another diagonal: it hides nothing, or only what follows the answer.
# With the first a decoder cheats later: it must find the answer among all tokens of the future.
MASK = """

def causal_mask(t_q, t_k=None):
    import numpy
    keys = t_q if t_k is None else t_k
    return numpy.tri(t_q, keys, {}, dtype=bool)
"""
NO_MASK, PEEKING = MASK.format("keys"), MASK.format("keys - t_q + 1")
WHO = ("the fox", "the owl", "a mouse", "the cat", "a frog", "the bear")
WHAT = ("a ball", "a leaf", "the key", "a shell", "the map", "a coin")
WHERE = ("the tree", "the lake", "the hill", "the house", "the bridge")
STORIES = (
    "{who} finds {what} at {where}. {who} takes {what} to {there}.",
    "{who} looks for {what}. {other} has seen {what} at {where}.",
    "{who} gives {what} to {other}. {other} is glad.",
    "{who} and {other} walk from {where} to {there}.",
)
CHARACTERS = 20_000


def stories(seed: int) -> str:
    """Return small stories, one per line, the same for the same seed."""
    draw = random.Random(seed)
    lines: list[str] = []
    while sum(map(len, lines)) < CHARACTERS:
        who, other = draw.sample(WHO, 2)
        where, there = draw.sample(WHERE, 2)
        words = {"who": who, "other": other, "where": where, "there": there}
        lines.append(draw.choice(STORIES).format(what=draw.choice(WHAT), **words) + "\n")
    return "".join(lines)


def prepare(text: str, length: int) -> tuple[tuple[str, ...], Tokens]:
    """Return the characters of a text, and its tokens: the place of each character among them.

    Raise Problem if it is too short for a window of that length.
    """
    if len(text) < length + 2:
        raise Problem(
            f"the text has {len(text)} characters, too few for windows of {length}: "
            "take a longer text, or shorter windows, --length 8 (with make, ARGS='--length 8')"
        )
    characters = tuple(sorted(set(text)))
    places = {character: place for place, character in enumerate(characters)}
    return characters, np.array([places[character] for character in text], np.int64)


def read_text(path: Path) -> str:
    """Return the contents of a text file. Raise Problem if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Problem(f"{path} is not a text in UTF-8: name a text file") from None


def exchange_mask(registry: Registry, program: Program, mask: str) -> Program:
    """Return the program with another causal_mask: NO_MASK or PEEKING.

    It changes the solutions, or the learner's own code if there are none.
    """
    code = {**program.sources, **right_modules(registry)}
    home = step_of(registry, "causal_mask").id
    if home not in code:
        raise NotReady("There is no step 3, whose causal_mask is to be replaced.")
    text, place = code[home]
    return replace(program, sources={**code, home: (f"{text!s}{mask}", place)})


def check_switch(workers: Iterable[Worker], text: Tokens, params: Any, about: About) -> None:
    """Raise NotReady if all versions have the same loss, because causal_mask is not used then."""
    if len({find_loss(worker, text, params, about, 0) for worker in workers}) == 1:
        raise NotReady(
            "Your decoder does not get its mask from causal_mask, so it cannot be exchanged: "
            "call causal_mask in steps 12 and 18."
        )


def first_params(about: About, seed: int) -> dict[str, Any]:
    """Return a decoder to start from, as GPT-2 does: weights of 0.02, no biases, gains of 1."""
    draw, d, shapes = np.random.RandomState(seed), about.d_model, Draw("shapes")
    blocks = [block_params(shapes, d, 4 * d) for _ in range(about.n_layers)]
    params = decoder_params(shapes, len(about.words), about.t_max, blocks)
    for (*_, name), array in walk(params):
        array[...] = draw.normal(0.0, 0.02, array.shape) if array.ndim > 1 else name == "gain"
    return params


def train(
    worker: Worker,
    text: Tokens,
    params: Any,
    about: About,
    batch: int,
    steps: int,
    peak: float,
    seed: int,
) -> Iterator[tuple[float, Any]]:
    """Take training steps. Yield the loss before each, and the parameters after it.

    Raise NotReady if the loss is not a number.
    """
    draw = np.random.RandomState(seed)
    warmup = min(steps // 10, 100)
    state = worker.call("new_adamw", [params], {}, opaque=[True]).value
    for number in range(steps):
        starts = draw.randint(0, len(text) - about.t_max, batch)
        tokens = worker.call("sample_batch", [text, about.t_max, starts], {}).value
        lr = worker.call("learning_rate", [number, peak, warmup, steps], {}).value
        args = [tokens, params, state, about.n_heads, lr]
        answer = worker.call("train_step", args, {}, opaque=[False, False, True], forget=[state])
        match answer.value:
            case [loss, dict(params), state]:
                loss = float(np.asarray(loss))
            case _:
                raise NotReady("train_step does not return (loss, params, state).")
        if not math.isfinite(loss):
            raise NotReady(
                f"The loss of step {number + 1} is not a finite number. Look at the gradients: "
                f"`{spell_command('check', 18)}`. If they pass, try a smaller --lr."
            )
        yield loss, params


def find_loss(worker: Worker, text: Tokens, params: Any, about: About, seed: int) -> float:
    """Return the loss of these parameters on some windows of the text."""
    starts = np.random.RandomState(seed).randint(0, len(text) - about.t_max, ASKED)
    tokens = text[starts[:, None] + np.arange(about.t_max + 1)]
    return float(np.asarray(worker.call("decoder_loss", [tokens, params, about.n_heads], {}).value))


def write(worker: Worker, prompt: Tokens, params: Any, about: About, seed: int) -> str:
    """Let the decoder continue the prompt until all positions are used, and return the text."""
    count = about.t_max - len(prompt)
    options = {"temperature": 0.7, "u": np.random.RandomState(seed).random_sample(count)}
    args = [prompt, count, params, about.n_heads]
    ids = np.ravel(worker.call("decoder_generate", args, options).value)
    return "".join(about.words[int(token)] for token in ids)
