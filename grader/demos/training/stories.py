"""Provide training texts: small made-up stories, or any file; characters are tokens."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.report.problem import Problem

WHO = ("the fox", "the owl", "a mouse", "the cat", "a frog", "the bear")
WHAT = ("a ball", "a leaf", "the key", "a shell", "the map", "a coin")
WHERE = ("the tree", "the lake", "the hill", "the house", "the bridge")
STORIES = (
    "{who} finds {what} at {where}. {who} takes {what} to {there}.",
    "{who} looks for {what}. {other} has seen {what} at {where}.",
    "{who} gives {what} to {other}. {other} is glad.",
    "{who} and {other} walk from {where} to {there}.",
)
CHARACTERS = 20_000


def stories(seed: int = 0, characters: int = CHARACTERS) -> str:
    """Return small stories, one per line, the same for the same seed."""
    draw = random.Random(seed)
    lines: list[str] = []
    while sum(map(len, lines)) < characters:
        who, other = draw.sample(WHO, 2)
        where, there = draw.sample(WHERE, 2)
        words = {"who": who, "other": other, "where": where, "there": there}
        lines.append(draw.choice(STORIES).format(what=draw.choice(WHAT), **words) + "\n")
    return "".join(lines)


@dataclass(frozen=True)
class Text:
    """A text and its vocabulary; a token is the index of a character in it."""

    characters: str
    tokens: NDArray[np.int64]

    def decode(self, tokens: NDArray[Any]) -> str:
        """Return the text of these tokens."""
        return "".join(self.characters[int(token)] for token in np.ravel(tokens))


def prepare(text: str, length: int) -> Text:
    """Turn a text into tokens. Raise Problem if it is too short for a window of that length."""
    if len(text) < length + 2:
        raise Problem(
            f"the text has {len(text)} characters, too few for windows of {length}: "
            "take a longer text, or shorter windows, --length 8 (with make, ARGS='--length 8')"
        )
    characters = "".join(sorted(set(text)))
    places = {character: place for place, character in enumerate(characters)}
    return Text(characters, np.array([places[character] for character in text], np.int64))


def read_text(path: Path) -> str:
    """Return the contents of a text file. Raise Problem if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Problem(f"{path} is not a text in UTF-8: name a text file") from None
