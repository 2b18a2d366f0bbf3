"""List the pictures of each lesson, and the functions that draw them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from grader.notebooks import (
    attention_looks,
    decoder_looks,
    gap_looks,
    gradient_looks,
    modern_looks,
    piece_looks,
)

# By the names of the functions in `grader.look`.
LOOKS: Mapping[int, tuple[str, ...]] = {
    1: ("projections",),
    2: ("scores", "spread"),
    3: ("masking",),
    4: ("weights", "sharpness"),
    5: ("attention_weights", "leaks"),
    6: ("peeking",),
    7: ("pieces", "times"),
    8: ("temperatures",),
    9: ("cut", "heads"),
    10: ("translation",),
    11: ("norms",),
    12: ("layers",),
    13: ("decoder_pieces", "decoder_times"),
    14: ("hidden", "both_sides"),
    15: ("wishes",),
    16: ("reached",),
    17: ("highway",),
    18: ("two_jobs",),
    19: ("learning",),
    20: ("circle",),
    21: ("shared",),
    22: ("masks",),
    23: ("running", "memory"),
    24: ("kept",),
    25: ("llama_pieces",),
}

# Generated from the lessons: a bundle has no cells for notebooks in its lessons.
CAPTIONS = Path(__file__).with_name("captions.json")


@cache
def read_captions() -> Mapping[str, str]:
    """Return what the lessons say above each picture: a title, and a paragraph below it."""
    found: dict[str, str] = json.loads(CAPTIONS.read_text(encoding="utf-8"))
    return found


def find_look(name: str) -> Callable[..., Any]:
    """Return the function that draws that picture. Raise AttributeError if there is none."""
    homes = (attention_looks, decoder_looks, gap_looks, gradient_looks, modern_looks, piece_looks)
    home = next((one for one in homes if hasattr(one, name)), attention_looks)
    draw: Callable[..., Any] = getattr(home, name)
    return draw
