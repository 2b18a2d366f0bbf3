"""Make a Llama with random weights, as a substitute if there is no network.

Its files are those of any Llama, so every reader works on them. Its heads are larger than d_model /
n_heads, and two share a key head. base and eps are not the steps' defaults. So code that ignores
one of these is found.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2 import tiny
from grader.demos.llama.names import LLAMA, LlamaConfig

SEED = 2023
VERSION = 1  # to be raised with any change here: what was made before is not made again
TINY = LlamaConfig(
    n_layers=3,
    n_heads=4,
    d_model=48,
    d_ff=128,
    t_max=256,
    vocabulary=512,
    end=None,
    n_kv_heads=2,
    d_head=16,
    base=5000.0,
    eps=0.01,
    tied=False,
)
SMALL = LlamaConfig(12, 12, 768, 2048, 2048, 32_000, None, 4, 64, 10000.0, 1e-5, tied=True)
"""As large as the smallest published ones: about 100 million numbers."""


def make_cached() -> Path:
    """Return the folder of the tiny model, made on first use."""
    return tiny.find_made(f"llama-tiny-{VERSION}", lambda folder: make(folder, TINY))


def make(folder: Path, size: LlamaConfig, seed: int = SEED, *, tokenizer: bool = True) -> None:
    """Write a random Llama of that size into a folder, the same every time."""
    tiny.make_model(folder, LLAMA, size, _draw, seed, tokenizer=tokenizer)


def _draw(name: str, shape: tuple[int, ...], random: np.random.RandomState) -> NDArray[np.float32]:
    """Return gains around 1, and weights that keep the size of their input."""
    values = random.standard_normal(shape)
    if len(shape) == 1:
        values = 1 + 0.2 * values
    elif "embed" in name:  # small, so that eps shows in the first norm
        values *= 0.2 / np.sqrt(shape[1])
    else:
        values /= np.sqrt(shape[1])
    return values.astype(np.float32)
