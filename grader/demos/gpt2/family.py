"""Describe a family of models that runs on the steps: its files, and how transformers runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.demos.gpt2 import names, running, tiny, trained, weights
from grader.demos.gpt2.agreement import Other
from grader.demos.gpt2.tokens import Characters, TokenReader, Words
from grader.demos.training.weights import load

Load = Callable[[weights.Model, type[np.floating]], Other]


def read_words(model: weights.Model) -> TokenReader:
    """Return the tokenizer beside the weights."""
    return Words(model.folder / weights.TOKENIZER, model.config.vocabulary)


@dataclass(frozen=True)
class Family:
    """A family of models. load_other: imports transformers, which takes seconds."""

    names: names.Names
    hub_name: str
    functions: running.Functions
    make_cached: Callable[[], Path]
    read: Callable[[Path], weights.Model]
    load_other: Callable[[], Load]
    words: Callable[[weights.Model], TokenReader]

    def read_tiny(self) -> weights.Model:
        """Return the tiny random model."""
        return self.read(self.make_cached() / weights.WEIGHTS)


def _read_model(file: Path) -> weights.Model:
    return trained.read(file.parent) if trained.is_trained(file) else weights.read(file)


def _read_words(model: weights.Model) -> TokenReader:
    if trained.is_trained(model.folder / trained.FILE):
        return Characters(load(model.folder)[1].characters)
    return read_words(model)


def _load_gpt2() -> Load:
    from grader.demos.gpt2.against import Gpt2

    return Gpt2


GPT2 = Family(
    names=names.GPT2,
    hub_name="openai-community/gpt2",
    functions=running.GPT2,
    make_cached=lambda: tiny.make_cached(),
    read=_read_model,
    load_other=_load_gpt2,
    words=_read_words,
)
