"""Draw what the learner's own functions do, for the notebooks.

Each picture uses the functions as they are in the kernel. If one is still a stub, or cannot be
drawn, a sentence takes the place of the picture.
"""

from typing import Any

from grader.notebooks import (  # noqa: F401  # each lists its pictures
    attention_looks,
    decoder_looks,
    gradient_looks,
    modern_looks,
)
from grader.notebooks.pictures import LOOKS, PICTURES

__all__ = ["LOOKS", "PICTURES"]


def __getattr__(name: str) -> Any:
    """Return the function that draws the picture of that name."""
    if name not in PICTURES:
        raise AttributeError(f"there is no picture {name!r}")
    return PICTURES[name]


def __dir__() -> list[str]:
    """Return the names of all pictures."""
    return [*PICTURES]
