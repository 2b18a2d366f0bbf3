"""Load the kit's small trained model: a decoder that writes text without a network.

`grader/authoring/train_small.py` made it, with the solutions' own training steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grader.demos.training.weights import About, load

FOLDER = Path(__file__).parents[1] / "small"
CHEAT = "without_mask.safetensors"


@dataclass(frozen=True)
class Small:
    """The model: its sizes, its words, and `params` of step 12 with the mask and without."""

    config: About
    params: Any
    cheat: Any

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words in the order of their tokens."""
        return self.config.words


@cache
def load_small() -> Small:
    """Return the kit's model."""
    params, about = load(FOLDER)
    return Small(about, params, load(FOLDER, CHEAT)[0])
