"""Describe a family of models that runs on the steps: its weights, and their meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grader.demos.gpt2 import names, running, tiny, trained, weights
from grader.demos.gpt2.agreement import Other
from grader.demos.gpt2.tokens import Words


class Stream(Protocol):
    """Turns ids into text one by one."""

    def text(self, token: int, /) -> str:
        """Return the text that this token completes."""


class Reader(Protocol):
    """Turns a text into ids, and ids into text."""

    def ids(self, text: str, /) -> list[int]:
        """Return the tokens of a text."""

    def streaming(self) -> Stream:
        """Return a stream that turns one sequence's ids into words."""


def read_words(model: weights.Model) -> Reader:
    """Return the tokenizer beside the weights."""
    return Words(model.folder / weights.TOKENIZER, model.config.vocabulary)


@dataclass(frozen=True)
class Family:
    """A family of models. load_other: imports transformers, which takes seconds."""

    title: str
    tiny_name: str
    hub_name: str
    functions: running.Functions
    make_cached: Callable[[], Path]
    read: Callable[[Path], weights.Model]
    to_params: Callable[..., dict[str, Any]]
    load_other: Callable[[], Callable[[weights.Model, type[np.floating[Any]]], Other]]
    words: Callable[[weights.Model], Reader]
    sample: Callable[[Reader], Sequence[int]]
    """Tokens for comparisons."""

    def read_tiny(self) -> weights.Model:
        """Return the tiny random model."""
        return self.read(self.make_cached() / weights.WEIGHTS)


def _read_model(file: Path) -> weights.Model:
    if trained.is_trained(file):
        return trained.read(file.parent)
    return weights.read(file)


def _read_words(model: weights.Model) -> Reader:
    if trained.is_trained(model.folder / trained.FILE):
        return trained.Characters(model.folder)
    return read_words(model)


def _sample(words: Reader) -> Sequence[int]:
    return words.sample() if isinstance(words, trained.Characters) else words.ids(tiny.TEXT)


def _load_gpt2() -> Callable[[weights.Model, type[np.floating[Any]]], Other]:
    from grader.demos.gpt2.against import Gpt2

    return Gpt2


GPT2 = Family(
    title="GPT-2",
    tiny_name="a tiny one made here, its weights random, so its text makes no sense",
    hub_name="openai-community/gpt2",
    functions=running.GPT2,
    make_cached=lambda: tiny.make_cached(),
    read=_read_model,
    to_params=names.to_params,
    load_other=_load_gpt2,
    words=_read_words,
    sample=_sample,
)
