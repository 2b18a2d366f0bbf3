"""Store trained weights in a folder, like those of any GPT-2: three files that its readers know."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.names import GPT2
from grader.demos.safetensors_arrays import format_arrays, read_arrays
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.tree import walk

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
OLD = "training.json"  # the facts, as version 0.1 stored them
MAX_TEXT = 2**23  # bytes of a file of settings or words; a large tokenizer takes a few million
Array = NDArray[Any]
# Tokens that are characters, or words. An unknown character is an error, an unknown word is a "?".
CHARACTERS = {
    "normalizer": None,
    "pre_tokenizer": {
        "type": "Split",
        "pattern": {"Regex": r"[\s\S]"},
        "behavior": "Isolated",
        "invert": False,
    },
    "decoder": {"type": "Fuse"},
    "unknown": "",
}
WORDS = {
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "decoder": None,
    "unknown": "?",
}


@dataclass(frozen=True)
class About:
    """Facts about stored weights: the decoder's sizes, its tokens in order, its steps so far."""

    n_layers: int
    n_heads: int
    d_model: int
    t_max: int
    words: tuple[str, ...]
    steps: int = 0


def flatten(tree: Any) -> dict[str, Array]:
    """Return all arrays of a tree, each under its path: `blocks.0.ln_1.gain`."""
    return {".".join(map(str, path)): array for path, array in walk(tree)}


def describe(about: About, rule: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the contents of config.json and tokenizer.json. rule: CHARACTERS or WORDS."""
    config = {
        **{"model_type": "gpt2", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5},
        **{"n_layer": about.n_layers, "n_head": about.n_heads, "n_embd": about.d_model},
        **{"n_positions": about.t_max, "vocab_size": len(about.words)},
        **{"bos_token_id": None, "eos_token_id": None},
        **({"trained_steps": about.steps} if about.steps else {}),
    }
    places = {word: place for place, word in enumerate(about.words)}
    tokenizer: dict[str, Any] = {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": []},
        **{"normalizer": rule["normalizer"], "pre_tokenizer": rule["pre_tokenizer"]},
        **{"post_processor": None, "decoder": rule["decoder"]},
        "model": {"type": "WordLevel", "vocab": places, "unk_token": rule["unknown"]},
    }
    return {CONFIG: config, TOKENIZER: tokenizer}


def check_folder(folder: Path) -> None:
    """Raise Problem before training if weights cannot be written there."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise Problem(f"cannot write to {folder}: name another folder with --out")
    if (folder / OLD).exists():
        raise Problem(f"{folder} holds weights of nopeek 0.1: name another folder with --out")


def save(folder: Path, params: Any, about: About) -> None:
    """Save a decoder whose tokens are characters, each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{WEIGHTS}.new"
        temporary.write_bytes(format_arrays(GPT2.to_tensors(params), "F64"))
        temporary.replace(folder / WEIGHTS)
        for name, data in describe(about, CHARACTERS).items():
            write_whole(folder / name, [json.dumps(data, indent=1) + "\n"])
    except OSError as error:
        raise Problem(f"cannot write to {folder}: {error.strerror}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file. Raise ValueError if it holds none, or is too large."""
    if path.stat().st_size > MAX_TEXT:
        raise ValueError(f"{path} is too large")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} holds no object")
    return data


def load(folder: Path, weights: str = WEIGHTS) -> tuple[Any, About]:
    """Return the `params` of step 12, and facts. Raise Problem if `save` did not write them."""
    try:
        config = read_json(folder / CONFIG)
        places = read_json(folder / TOKENIZER)["model"]["vocab"]
        words = tuple(sorted(places, key=places.__getitem__))
        n_layers, n_heads, d_model = config["n_layer"], config["n_head"], config["n_embd"]
        steps = config.get("trained_steps", 0)
        about = About(n_layers, n_heads, d_model, config["n_positions"], words, steps)
        _check_sizes(about)
        tensors = dict(read_arrays((folder / weights).read_bytes()))
        params = GPT2.to_params(tensors, about.n_layers, np.float64)
        _check_shapes(about, params)
        return params, about
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise Problem(
            f"{folder} holds no weights of `train` that can be read: name another folder"
        ) from None


def _check_sizes(about: About) -> None:
    """Raise ValueError unless the sizes are those of a decoder."""
    sizes = (about.n_layers, about.n_heads, about.d_model, about.t_max)
    if any(type(number) is not int for number in (*sizes, about.steps)):
        raise ValueError("a size is not an integer")
    if min(sizes) < 1 or about.d_model % about.n_heads or about.steps < 0:
        raise ValueError("the sizes are of no decoder")


def _check_shapes(about: About, params: Any) -> None:
    """Raise ValueError unless the arrays have these sizes."""
    d, wide = about.d_model, 4 * about.d_model
    special = {
        "embedding": (len(about.words), d),
        "position": (about.t_max, d),
        "w_in": (d, wide),
        "b_in": (wide,),
        "w_out": (wide, d),
    }
    for path, array in flatten(params).items():
        name = path.rpartition(".")[2]
        if array.shape != special.get(name, (d, d) if name.startswith("w_") else (d,)):
            raise ValueError("the sizes are those of other weights")
