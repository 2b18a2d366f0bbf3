"""Find published weights, and store trained ones like those of any GPT-2: three files in a folder.

The files of tensors are written and read without their library, which a learner may lack.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.family import GPT2
from grader.report.files import replacing, write_whole
from grader.report.problem import Problem
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.tree import named_leaves

FILES = WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
# The small trained model, which grader/authoring/train_small.py made, with its mask and without.
SMALL, CHEAT = Path(__file__).with_name("small"), "without_mask.safetensors"
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


def read_arrays(data: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the float32 arrays of a file, by name.

    Raise ValueError if the file is not as a safetensors file should be.

    >>> dict(read_arrays((2).to_bytes(8, "little") + b"{}"))
    {}
    """
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        for name, entry in json.loads(data[8:start]).items():
            if entry.get("dtype") == "F32":  # another entry is not an array of the kit's
                first, stop = entry["data_offsets"]
                raw = data[start + first : start + stop]
                yield name, np.frombuffer(raw, "<f4").reshape(entry["shape"])
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError("not a safetensors file") from error


def format_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the file of these arrays, in float32.

    >>> dict(read_arrays(format_arrays({"a": np.ones(2)})))
    {'a': array([1., 1.], dtype=float32)}
    """
    header, parts, end = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, "<f4").tobytes()
        offsets = [end, end + len(data)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        parts.append(data)
        end += len(data)
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(parts)


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


def save(folder: Path, params: Any, about: About) -> None:
    """Save a decoder whose tokens are characters, each file whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / WEIGHTS) as file:
        file.write_bytes(format_arrays(GPT2.to_tensors(params)))
    for name, data in describe(about, CHARACTERS).items():
        write_whole(folder / name, [json.dumps(data, indent=1) + "\n"])


def load(folder: Path, weights: str = WEIGHTS) -> tuple[Any, About]:
    """Return the `params` of step 12, and facts. Raise Problem if `save` did not write them."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tokenizer = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
        tensors = dict(read_arrays((folder / weights).read_bytes()))
        n_layers = sum(name.endswith(".ln_1.weight") for name in tensors)
        params = GPT2.to_params(tensors, n_layers, np.float64)
        (t_max, d), heads = params["position"].shape, config["n_head"]
        places = tokenizer["model"]["vocab"]
        words = tuple(sorted(places, key=places.__getitem__))
        about = About(n_layers, heads, d, t_max, words, config.get("trained_steps", 0))
        draw = Draw("shapes")
        blocks = [block_params(draw, d, 4 * d)] * n_layers
        decoder = decoder_params(draw, len(words), t_max, blocks)
        shapes, wanted = (
            {name: array.shape for name, array in named_leaves(one).items()}
            for one in (params, decoder)
        )
        if shapes != wanted or config != describe(about, CHARACTERS)[CONFIG]:
            raise ValueError("the arrays or the settings are those of other weights")
        if type(heads) is not int or d % heads or about.steps < 0:
            raise ValueError("the settings are not a decoder's")
        return params, about
    except (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        raise Problem(
            f"{folder} holds no weights of `train` that can be read: name another folder"
        ) from None


class NotThere(Problem):
    """The weights are not available, because there is no network."""


def locate(name: str) -> Path:
    """Return the weights' file for a file, its folder, or a model on the hub.

    Missing files are downloaded, with the hub's own progress. Without a network, those that were
    downloaded before are taken.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        path /= WEIGHTS
        if not path.is_file():
            where = path.parent
            raise Problem(f"there is no {WEIGHTS} in {where}: name a folder or a file with weights")
    if path.exists():
        return path
    if path.suffix or path.is_absolute() or name.startswith(".") or name.count("/") > 1:
        raise Problem(f"there is no folder or file {name}: name one, or a model on the hub")
    from huggingface_hub import errors, snapshot_download

    unknown = (
        f"there is no folder {name} here, and no model of that name on the hub that is open to "
        f"everybody and has {', '.join(FILES)}: check the name"
    )
    try:
        folder = Path(snapshot_download(name, allow_patterns=[*FILES]))
    except (errors.HFValidationError, errors.RepositoryNotFoundError) as error:
        raise Problem(unknown) from error
    except Exception as error:  # any library can carry the requests, and fail in any way
        raise NotThere(
            f"{name} cannot be downloaded: without a network, name a folder with --weights, or tiny"
        ) from error
    if not all((folder / file).is_file() for file in FILES):
        raise Problem(unknown)
    return folder / WEIGHTS
