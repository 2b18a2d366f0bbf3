"""Describe the Llama family: its functions are step 25's, and a tokenizer may be missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.gpt2.agreement import Other
from grader.demos.gpt2.family import Family, Reader, read_words
from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.running import Functions
from grader.demos.gpt2.tiny import TEXT
from grader.demos.gpt2.trained import is_trained
from grader.demos.gpt2.weights import TOKENIZER, Model, read
from grader.demos.llama import names, tiny
from grader.demos.llama.ids import Ids


def _load_llama() -> Callable[[Model, type[np.floating[Any]]], Other]:
    from grader.demos.llama.against import Llama

    return Llama


def _read_model(file: Path) -> Model:
    if is_trained(file):
        raise Gpt2Error(f"{file.parent} holds a GPT-2 that `train` has trained: give it to `gpt2`")
    return read(file, names.read_config, names.check_tensors)


def _words(model: Model) -> Reader:
    """Return the tokenizer beside the weights, or ids if there is none."""
    if (model.folder / TOKENIZER).exists():
        return read_words(model)
    return Ids(model.config.vocabulary)


def _sample(words: Reader) -> Sequence[int]:
    return words.sample() if isinstance(words, Ids) else words.ids(TEXT)


LLAMA = Family(
    title="Llama",
    tiny_name="a tiny one made here, its weights random, so its text makes no sense",
    hub_name="HuggingFaceTB/SmolLM2-135M",
    functions=Functions("llama_logits", "new_llama_cache", "llama_step", ""),
    make_cached=lambda: tiny.make_cached(),
    read=_read_model,
    to_params=names.to_params,
    load_other=_load_llama,
    words=_words,
    sample=_sample,
)
