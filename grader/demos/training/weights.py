"""Store weights in a folder: the arrays in safetensors, and facts about them in JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from grader.demos.safetensors_arrays import format_arrays, read_arrays
from grader.report.files import write_whole
from grader.report.problem import Problem
from grader.steps.tree import map_leaves, walk

WEIGHTS, ABOUT = "weights.safetensors", "training.json"
MAX_ABOUT = 2**20  # bytes of the facts; a text's characters take a few thousand
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


def flatten(tree: Any) -> dict[str, Array]:
    """Return all arrays of a tree, each under its path: `blocks.0.ln_1.gain`."""
    return {".".join(map(str, path)): array for path, array in walk(tree)}


def refill(tree: Any, arrays: Mapping[str, Array]) -> Any:
    """Return a tree of the same structure, with the arrays of these names.

    Raise Problem unless they are its arrays, in name and shape.
    """
    names = {name: array.shape for name, array in flatten(tree).items()}
    if names != {name: array.shape for name, array in arrays.items()}:
        raise Problem(f"{WEIGHTS} is not what {ABOUT} says: name another --out")
    ordered = iter([arrays[name] for name in names])
    return map_leaves(tree, lambda _: next(ordered))


def check_folder(folder: Path) -> None:
    """Raise Problem before training if weights cannot be written there."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise Problem(f"cannot write to {folder}: name another folder with --out")


def save(folder: Path, params: Any, about: About) -> None:
    """Save both files, each of them whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{WEIGHTS}.new"
        temporary.write_bytes(format_arrays(flatten(params), "F64"))
        temporary.replace(folder / WEIGHTS)
        write_whole(folder / ABOUT, [json.dumps(asdict(about), indent=1) + "\n"])
    except OSError as error:
        raise Problem(f"cannot write to {folder}: {error.strerror}") from None


def load(folder: Path) -> tuple[dict[str, Array], About]:
    """Read both files. Raise Problem if `save` did not write them."""
    try:
        if (folder / ABOUT).stat().st_size > MAX_ABOUT:
            raise ValueError("too large")
        about = About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
        found = read_arrays((folder / WEIGHTS).read_bytes())
        arrays = {name: array.copy() for name, array in found}
        _check(about, arrays)
        return arrays, about
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        raise Problem(
            f"{folder} holds no weights of `train` that can be read: name another folder"
        ) from None


def _check(about: About, arrays: Mapping[str, Array]) -> None:
    """Raise ValueError unless the facts are of the right types, and no larger than the weights."""
    sizes = (about.n_layers, about.n_heads, about.d_model, about.length)
    if any(type(number) is not int for number in (*sizes, about.steps)) or min(sizes) < 1:
        raise ValueError("a size is not a positive integer")
    if not isinstance(about.characters, str):
        raise ValueError("the characters are not a text")
    embedding, position = (len(about.characters), about.d_model), (about.length, about.d_model)
    if (arrays["embedding"].shape, arrays["position"].shape) != (embedding, position):
        raise ValueError("the sizes are those of other weights")
    if about.n_layers > len(arrays) or about.d_model % about.n_heads or about.steps < 0:
        raise ValueError("the sizes are those of other weights")
