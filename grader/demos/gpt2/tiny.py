"""Make a GPT-2 with random weights, as a substitute if there is no network.

The files are those of any GPT-2 (config.json, model.safetensors, tokenizer.json), so every reader
works on them. The weights are larger than a fresh GPT-2's. Otherwise gelu would not bend, attention
would not choose, and a wrong decoder would give nearly the same logits as a right one.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.names import GPT2, Config, Names
from grader.demos.gpt2.weights import CONFIG, TOKENIZER, WEIGHTS

SEED = 2019
VERSION = 1  # to be raised with any change here: what was made before is not made again
END = "<|endoftext|>"
TEXT = """\
A model that writes reads from left to right. At every place it asks what has come before, and
never what comes after. The words that came before have keys; the word that asks has a query; what
is carried over are the values. A query that fits a key well gets more of its value.
The mask hides the future. Without the mask the model would look at the answer, and learn nothing.
With the mask every place is an exercise of its own, and one pass over a text is as many exercises
as the text has words. That is why training is fast, and why writing is slow: one word at a time.
The cache keeps what was worked out before. Keys and values of old words do not change when a new
word comes, because no old word may look at a new one. So a new word costs one query, and not all
of the text again.
Several heads ask several questions. Several layers ask about what the layers below have found.
Between the layers every place is worked on by itself. At the end the word is compared with all
words there are, and the best ones are likely to come next. Then it is written down, and read.
"""


TINY = Config(n_layers=3, n_heads=4, d_model=48, d_ff=192, t_max=256, vocabulary=512, end=None)
SMALL = Config(12, 12, 768, 3072, 1024, 50_257, None)
"""The one called gpt2, of 124 million numbers."""
Draw = Callable[[str, tuple[int, ...], np.random.RandomState], NDArray[np.float32]]


def make_cached() -> Path:
    """Return the folder of the tiny model, made on first use."""
    return find_made(f"gpt2-tiny-{VERSION}", lambda folder: make(folder, TINY))


def find_made(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of that name in the user's cache, made on first use.

    If nothing can be kept, it is a folder that is removed when the program ends.
    """
    from platformdirs import user_cache_path

    folder: Path = user_cache_path("nopeek") / name
    if (folder / WEIGHTS).is_file():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError:
        beside = Path(tempfile.mkdtemp(prefix="nopeek-"))
        atexit.register(shutil.rmtree, beside, ignore_errors=True)
        make(beside)
        return beside
    make(beside)
    try:
        return beside.rename(folder)
    except OSError:  # another process has made it meanwhile
        shutil.rmtree(beside, ignore_errors=True)
        return folder


def make(folder: Path, size: Config, seed: int = SEED) -> None:
    """Write a random GPT-2 of that size into a folder, the same every time."""
    make_model(folder, GPT2, size, _draw, seed)


def make_model(
    folder: Path, names: Names, size: Any, draw: Draw, seed: int, *, tokenizer: bool = True
) -> None:
    """Write a random model of a family; its vocabulary is at least its tokenizer's."""
    from safetensors.numpy import save_file

    if tokenizer:
        words = min(size.vocabulary, TINY.vocabulary)
        size = replace(size, end=make_tokenizer(folder / TOKENIZER, words))
    (folder / CONFIG).write_text(json.dumps(names.settings(size), indent=1), encoding="utf-8")
    random = np.random.RandomState(seed)
    shapes = names.shapes(size).items()
    tensors = {f"{names.prefix}{name}": draw(name, shape, random) for name, shape in shapes}
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})


def make_tokenizer(path: Path, vocabulary: int) -> int:
    """Train a byte-level BPE like GPT-2's, and return the id of the token that ends a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.save(str(path))
    end = tokenizer.token_to_id(END)
    assert end is not None  # it is among the special tokens
    return int(end)


def _draw(name: str, shape: tuple[int, ...], random: np.random.RandomState) -> NDArray[np.float32]:
    """Return gains around 1, biases around 0, and weights that keep the size of their input."""
    values = random.standard_normal(shape)
    if len(shape) == 1:
        values = 0.2 * values + (name.endswith("weight") and "ln_" in name)
    elif name.startswith("w"):
        values *= 0.2 / np.sqrt(shape[1])
    else:
        values /= np.sqrt(shape[0])
    return values.astype(np.float32)
