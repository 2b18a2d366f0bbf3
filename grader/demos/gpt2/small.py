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

from grader.demos.gpt2.names import GPT2, Config, to_params
from grader.demos.safetensors_arrays import read_arrays

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
    config = GPT2.read_config(FOLDER / "config.json")
    model = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    words = tuple(sorted(model["vocab"], key=model["vocab"].__getitem__))
    params, cheat = (
        to_params(dict(read_arrays((FOLDER / name).read_bytes())), config, np.float64)
        for name in (MASKED, CHEAT)
    )
    return Small(config, words, params, cheat)
