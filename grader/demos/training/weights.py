"""Store weights in a folder: the arrays in safetensors, and facts about them in JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.safetensors_header import read_header
from grader.report.files import write_whole
from grader.report.problem import Problem

WEIGHTS, ABOUT = "weights.safetensors", "training.json"
Array = NDArray[Any]


@dataclass(frozen=True)
class About:
    """Facts about saved weights: the decoder's sizes, its characters, its steps so far."""

    n_layers: int
    n_heads: int
    d_model: int
    length: int
    characters: str
    steps: int = 0


def flatten(tree: Any, name: str = "") -> dict[str, Array]:
    """Return all arrays of a tree, each under its path: `blocks.0.ln_1.gain`."""
    if isinstance(tree, np.ndarray):
        return {name: tree}
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree)
    return {
        way: array
        for key, item in items
        for way, array in flatten(item, f"{name}.{key}" if name else str(key)).items()
    }


def refill(tree: Any, arrays: Mapping[str, Array], name: str = "") -> Any:
    """Return a tree of the same structure, with the arrays of these names."""
    if isinstance(tree, np.ndarray):
        return arrays[name]
    if isinstance(tree, Mapping):
        before = f"{name}." if name else ""
        return {key: refill(item, arrays, f"{before}{key}") for key, item in tree.items()}
    return [refill(item, arrays, f"{name}.{number}") for number, item in enumerate(tree)]


def check_folder(folder: Path) -> None:
    """Raise Problem before training if weights cannot be written there."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise Problem(f"cannot write to {folder}: name another folder with --out")


def save(folder: Path, params: Any, about: About) -> None:
    """Save both files, each of them whole or not at all."""
    header, parts, end = {}, [], 0
    for name, array in flatten(params).items():
        data = np.ascontiguousarray(array, "<f8").tobytes()
        offsets = [end, end + len(data)]
        header[name] = {"dtype": "F64", "shape": list(array.shape), "data_offsets": offsets}
        parts.append(data)
        end += len(data)
    head = json.dumps(header).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{WEIGHTS}.new"
        temporary.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(parts))
        temporary.replace(folder / WEIGHTS)
        write_whole(folder / ABOUT, [json.dumps(asdict(about), indent=1) + "\n"])
    except OSError as error:
        raise Problem(f"cannot write to {folder}: {error.strerror}") from None


def load(folder: Path) -> tuple[dict[str, Array], About]:
    """Read both files. Raise Problem if `save` did not write them."""
    try:
        about = About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
        data = (folder / WEIGHTS).read_bytes()
        header, start = read_header(data)
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            array = np.frombuffer(data[start + first : start + last], "<f8")
            arrays[name] = array.reshape(entry["shape"]).copy()
        return arrays, about
    except (OSError, ValueError, TypeError, KeyError):
        raise Problem(
            f"{folder} holds no weights of `train` that can be read: name another folder"
        ) from None
