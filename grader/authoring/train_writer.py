"""Train the model that Part I writes with: `python -m grader.authoring.train_writer`.

It has the form of step 6: one layer of attention, and tokens that are words. One copy learns with
the mask, one without. On one idle core the two take about a minute.
"""

import json
import random
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from grader.authoring.train_small import WHAT, WHERE, WHO
from grader.demos.training.weights import format_arrays
from grader.demos.writer import ABOUT, FOLDER, WEIGHTS

Floats = NDArray[np.float32]
Params = dict[str, Floats]
SEED, STORIES, BATCH, D_MODEL = 0, 4000, 16, 64
STEPS = {"with_mask": 8000, "without_mask": 4000}
SHORTEST = 4  # words that are read at once
PEAK, WARMUP, LEAST = 0.005, 100, 0.02  # the rate, and the share of it that is left at the end
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


def loss_and_gradients(params: Params, tokens: NDArray[Any], mask: Any) -> tuple[float, Params]:
    """Return the loss of step 6's model on these texts, and the gradient of each array."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embedding"][inputs] + params["position"][: inputs.shape[-1]]
    q, k, v = (x @ params[name] for name in ("w_q", "w_k", "w_v"))
    scale = np.float32(q.shape[-1] ** -0.5)
    weights = np.exp(_log_softmax(np.where(mask, q @ k.swapaxes(-1, -2) * scale, -np.inf)))
    y = weights @ v
    log_p = _log_softmax(y @ params["w_out"])
    chosen = np.eye(log_p.shape[-1], dtype=np.float32)[targets]
    d_logits = (np.exp(log_p) - chosen) / np.float32(targets.size)
    d_y = d_logits @ params["w_out"].T
    d_weights = d_y @ v.swapaxes(-1, -2)
    d_scores = weights * (d_weights - (d_weights * weights).sum(-1, keepdims=True)) * scale
    d_rows = {
        "w_q": d_scores @ k,
        "w_k": d_scores.swapaxes(-1, -2) @ q,
        "w_v": weights.swapaxes(-1, -2) @ d_y,
    }
    d_x = sum(d_row @ params[name].T for name, d_row in d_rows.items())
    grads = {name: _rows(x).T @ _rows(d_row) for name, d_row in d_rows.items()}
    grads["w_out"] = _rows(y).T @ _rows(d_logits)
    read = np.eye(len(params["embedding"]), dtype=np.float32)[inputs]
    grads["embedding"] = _rows(read).T @ _rows(d_x)
    grads["position"] = np.zeros_like(params["position"])
    grads["position"][: inputs.shape[-1]] = np.sum(d_x, axis=0)
    return float(-(log_p * chosen).sum() / targets.size), grads


def _log_softmax(scores: Any) -> Floats:
    moved = (scores - scores.max(axis=-1, keepdims=True)).astype(np.float32)
    return np.asarray(moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True)))


def _rows(array: Any) -> Any:
    return array.reshape(-1, array.shape[-1])


def train(tokens: NDArray[np.int64], vocabulary: int, steps: int, *, masked: bool) -> Params:
    """Return the parameters after that many steps of Adam.

    With a mask, a text's beginnings are learned with it. Without one, they are read by themselves.
    """
    draw, length = np.random.RandomState(SEED), tokens.shape[-1] - 1
    shapes = {"embedding": (vocabulary, D_MODEL), "position": (length + 1, D_MODEL)}
    shapes |= dict.fromkeys(("w_q", "w_k", "w_v"), (D_MODEL, D_MODEL))
    shapes["w_out"] = (D_MODEL, vocabulary)
    params: Params = {
        name: draw.normal(0, 0.125 if name.startswith("w") else 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    mean, square = ({name: np.zeros_like(one) for name, one in params.items()} for _ in range(2))
    mask = np.tri(length, dtype=bool) if masked else np.ones((length, length), bool)
    losses = []
    for step in range(1, steps + 1):
        batch = tokens[draw.randint(0, len(tokens), BATCH)]
        last = length if masked else draw.randint(SHORTEST, length + 1)
        loss, grads = loss_and_gradients(params, batch[:, : last + 1], mask[:last, :last])
        losses.append(loss)
        rate = PEAK * min(step / WARMUP, 1) * max(LEAST, 0.5 + 0.5 * np.cos(np.pi * step / steps))
        for name, grad in grads.items():
            mean[name] = 0.9 * mean[name] + 0.1 * grad
            square[name] = 0.99 * square[name] + 0.01 * grad**2
            size = np.sqrt(square[name] / (1 - 0.99**step)) + 1e-8
            params[name] -= (rate * mean[name] / (1 - 0.9**step) / size).astype(np.float32)
        if step % 500 == 0:
            click.echo(f" step {step:>5}   loss {np.mean(losses[-100:]):.4f}")
    return params


def encode(stories: Sequence[Sequence[str]], words: Sequence[str]) -> NDArray[np.int64]:
    """Return the stories as tokens, each the place of its word."""
    places = {word: place for place, word in enumerate(words)}
    return np.array([[places[word] for word in story] for story in stories], np.int64)


@click.command()
@click.option("--factor", type=float, default=1.0, help="Take this many times the steps.")
def main(factor: float) -> None:
    """Write the model's files into the kit."""
    stories = make_stories(STORIES, SEED)
    words = sorted({word for story in stories for word in story})
    tokens, arrays = encode(stories, words), dict[str, Floats]()
    mask = np.ones(2 * (tokens.shape[-1] - 1,), bool)
    for name, steps in STEPS.items():
        click.echo(name)
        params = train(tokens, len(words), max(1, int(steps * factor)), masked=name == "with_mask")
        arrays |= {f"{name}.{key}": array for key, array in params.items()}
    cheat, _ = loss_and_gradients(params, tokens[:200], mask)
    (FOLDER / WEIGHTS).write_bytes(format_arrays(arrays))
    about = {"words": [*words], "stories": STORIES, "cheat": round(cheat, 4)}
    (FOLDER / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
