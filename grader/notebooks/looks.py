"""List the pictures of each lesson, and the functions that draw them."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from grader.notebooks import (  # noqa: F401  # each lists its pictures
    attention_looks,
    cache_looks,
    decoder_looks,
    gap_looks,
    gradient_looks,
    modern_looks,
)
from grader.notebooks.drawing import PICTURES

# By the names of the functions in `grader.look`.
LOOKS = {step: tuple(PICTURES[step]) for step in sorted(PICTURES)}

# Generated from the lessons: a bundle has no cells for notebooks in its lessons.
CAPTIONS = Path(__file__).with_name("captions.json")


@cache
def read_captions() -> Mapping[str, str]:
    """Return what the lessons say above each picture: a title, and a paragraph below it."""
    found: dict[str, str] = json.loads(CAPTIONS.read_text(encoding="utf-8"))
    return found


def find_look(name: str) -> Callable[..., Any]:
    """Return the function that draws that picture. Raise AttributeError if there is none."""
    for pictures in PICTURES.values():
        if name in pictures:
            return pictures[name]
    raise AttributeError(f"there is no picture {name!r}")
