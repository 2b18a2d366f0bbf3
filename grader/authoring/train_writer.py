"""Train the model that Part I writes with: `python -m grader.authoring.train_writer`.

It has the form of step 6: one layer of attention, and tokens that are words. One copy learns with
the mask, one without. The solutions' own functions train it, in some minutes.
"""

import json
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from grader.authoring.figures import import_solutions
from grader.authoring.train_small import WHAT, WHERE, WHO
from grader.demos.weights import format_arrays
from grader.demos.writer import ABOUT, FOLDER, WEIGHTS
from grader.steps import registry as registry_module

Params = dict[str, NDArray[np.float64]]
SEED, STORIES, BATCH, D_MODEL = 0, 4000, 16, 64
STEPS = {"with_mask": 8000, "without_mask": 4000}
SHORTEST = 4  # words that are read at once
PEAK, WARMUP, LEAST, BETAS = 0.005, 100, 0.0001, (0.9, 0.99)
MAPS = ("w_q", "w_k", "w_v")
# Each sentence has one length, so a word's position says which part of the plot it is in.
PLOT = (
    ("the {who} looks for the {what} .", "the {who} has lost the {what} ."),
    ("it is not at the {where} .", "it is night at the {where} ."),
    ("the {who} asks the {other} for help .", "the {who} meets the {other} by chance ."),
    ("the {other} saw it at the {there} .", "the {other} hid it at the {there} ."),
    ("they walk to the {there} together .", "they hurry to the {there} now ."),
    ("there is the {what} in the grass .", "there is the {what} under a stone ."),
    ("the {who} thanks the {other} and smiles .", "now the {who} and the {other} sing ."),
)


def make_stories(count: int, seed: int) -> list[list[str]]:
    """Return stories, each a list of words; the same for the same seed."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        (who, other), (where, there) = draw.sample(WHO, 2), draw.sample(WHERE, 2)
        story = " ".join(draw.choice(sentences) for sentences in PLOT)
        names = {"who": who, "other": other, "where": where, "there": there}
        found.append(story.format(what=draw.choice(WHAT), **names).split())
    return found


def import_functions() -> SimpleNamespace:
    """Return the solutions' functions."""
    with import_solutions() as load:
        steps = {step: vars(load(step.id)) for step in registry_module.load().steps}
    return SimpleNamespace(
        **{f.name: steps[step][f.name] for step in steps for f in step.functions}
    )


def loss_and_gradients(
    right: SimpleNamespace, params: Params, tokens: NDArray[Any], mask: Any
) -> tuple[float, Params]:
    """Return the loss of step 6's model on these texts, and the gradient of each array."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embedding"][inputs] + params["position"][: inputs.shape[-1]]
    qkv = right.project_qkv(x, *(params[name] for name in MAPS))
    y = right.attention(*qkv, mask)
    logits = y @ params["w_out"]
    d_logits = right.cross_entropy_backward(logits, targets)
    d_y, d_w_out, _ = right.linear_backward(d_logits, y, params["w_out"])
    grads, d_x = {"w_out": d_w_out, "position": np.zeros_like(params["position"])}, 0.0
    for name, d_rows in zip(MAPS, right.attention_backward(d_y, *qkv, mask)):
        d_read, grads[name], _ = right.linear_backward(d_rows, x, params[name])
        d_x = d_x + d_read
    grads["embedding"] = right.embedding_backward(d_x, inputs, len(params["embedding"]))
    grads["position"][: inputs.shape[-1]] = np.sum(d_x, axis=0)
    return right.cross_entropy(logits, targets), grads


def train(
    right: SimpleNamespace, tokens: NDArray[np.int64], vocabulary: int, steps: int, *, masked: bool
) -> Params:
    """Return the parameters after that many steps of Adam.

    With a mask, a text's beginnings are learned with it. Without one, they are read by themselves.
    """
    draw, length = np.random.RandomState(SEED), tokens.shape[-1] - 1
    shapes = {"embedding": (vocabulary, D_MODEL), "position": (length + 1, D_MODEL)}
    shapes |= {**dict.fromkeys(MAPS, (D_MODEL, D_MODEL)), "w_out": (D_MODEL, vocabulary)}
    params: Params = {
        name: draw.normal(0, 0.125 if name.startswith("w") else 0.3, shape)
        for name, shape in shapes.items()
    }
    state, losses = right.new_adamw(params), []
    mask = np.tri(length, dtype=bool) if masked else np.ones((length, length), bool)
    for step in range(steps):
        batch = tokens[draw.randint(0, len(tokens), BATCH)]
        last = length if masked else draw.randint(SHORTEST, length + 1)
        loss, grads = loss_and_gradients(right, params, batch[:, : last + 1], mask[:last, :last])
        losses.append(loss)
        rate = right.learning_rate(step, PEAK, min(WARMUP, steps), steps, LEAST)
        params, state = right.adamw_step(params, grads, state, rate, BETAS, weight_decay=0.0)
        if (step + 1) % 500 == 0:
            click.echo(f" step {step + 1:>5}   loss {np.mean(losses[-100:]):.4f}")
    return params


def encode(stories: Sequence[Sequence[str]], words: Sequence[str]) -> NDArray[np.int64]:
    """Return the stories as tokens, each the place of its word."""
    places = {word: place for place, word in enumerate(words)}
    return np.array([[places[word] for word in story] for story in stories], np.int64)


def main() -> None:
    """Write the model's files into the kit."""
    stories = make_stories(STORIES, SEED)
    words = sorted({word for story in stories for word in story})
    right, tokens, arrays = import_functions(), encode(stories, words), Params()
    for name, steps in STEPS.items():
        click.echo(name)
        params = train(right, tokens, len(words), steps, masked=name == "with_mask")
        arrays |= {f"{name}.{key}": array for key, array in params.items()}
    mask = np.ones(2 * (tokens.shape[-1] - 1,), bool)
    cheat, _ = loss_and_gradients(right, params, tokens[:200], mask)
    (FOLDER / WEIGHTS).write_bytes(format_arrays(arrays))
    about = {"words": [*words], "stories": STORIES, "cheat": round(cheat, 4)}
    (FOLDER / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
