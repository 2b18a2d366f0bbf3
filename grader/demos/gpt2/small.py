"""Load the kit's small trained model: a decoder that writes text without a network.

`grader/authoring/train_small.py` made it, with the solutions' own training steps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.names import Config, read_config, to_params
from grader.demos.safetensors_header import read_header

FOLDER = Path(__file__).parents[1] / "small"
CHEAT = "without_mask.safetensors"
MASKED = "model.safetensors"


@dataclass(frozen=True)
class Small:
    """The model: its sizes, its words, and `params` of step 12 with the mask and without."""

    config: Config
    words: tuple[str, ...]
    params: Any
    cheat: Any


@cache
def load_small() -> Small:
    """Return the kit's model."""
    config, _ = read_config(FOLDER / "config.json")
    model = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    words = tuple(sorted(model["vocab"], key=model["vocab"].__getitem__))
    params, cheat = (
        to_params(read_tensors(FOLDER / name), config, np.float64) for name in (MASKED, CHEAT)
    )
    return Small(config, words, params, cheat)


def read_tensors(file: Path) -> dict[str, NDArray[np.float32]]:
    """Return the arrays of a safetensors file of float32; no library for it is installed."""
    data = file.read_bytes()
    header, start = read_header(data)
    found = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        array = np.frombuffer(data[start + first : start + last], "<f4")
        found[name] = array.reshape(entry["shape"])
    return found
