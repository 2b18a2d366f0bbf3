"""Describe the Llama family: its functions are step 25's, and a tokenizer may be missing."""

from __future__ import annotations

from pathlib import Path

from grader.demos.gpt2.family import Family, Load, read_words
from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.running import Functions
from grader.demos.gpt2.tokens import Ids, TokenReader
from grader.demos.gpt2.trained import is_trained
from grader.demos.gpt2.weights import TOKENIZER, Model, read
from grader.demos.llama import names, tiny


def _load_llama() -> Load:
    from grader.demos.llama.against import Llama

    return Llama


def _read_model(file: Path) -> Model:
    if is_trained(file):
        raise Gpt2Error(f"{file.parent} holds a GPT-2 that `train` has trained: give it to `gpt2`")
    return read(file, names.LLAMA)


def _words(model: Model) -> TokenReader:
    """Return the tokenizer beside the weights, or ids if there is none."""
    if (model.folder / TOKENIZER).exists():
        return read_words(model)
    return Ids(model.config.vocabulary)


LLAMA = Family(
    names=names.LLAMA,
    hub_name="HuggingFaceTB/SmolLM2-135M",
    functions=Functions("llama_logits", "new_llama_cache", "llama_step", ""),
    make_cached=lambda: tiny.make_cached(),
    read=_read_model,
    load_other=_load_llama,
    words=_words,
)
