"""Find GPT-2's weights: on the hub, in a folder or file, or the kit's own tiny model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.demos.gpt2.names import GPT2, Array, Config, Names
from grader.demos.gpt2.problems import Gpt2Error, NotThere
from grader.demos.safetensors_arrays import read_arrays

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Model:
    """A model read from disk: sizes, tensors by their family's full names, the files' folder."""

    config: Config
    tensors: dict[str, Array]
    folder: Path

    @property
    def parameters(self) -> int:
        """Return the number of parameters."""
        return sum(tensor.size for tensor in self.tensors.values())


def locate(name: str) -> Path:
    """Return the weights' file for a file, its folder, or a model on the hub."""
    path = Path(name).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        return path
    if path.suffix or path.is_absolute() or name.startswith(".") or name.count("/") > 1:
        raise Gpt2Error(f"there is no folder or file {name}: name one, or a model on the hub")
    return _from_hub(name)


def _in_folder(folder: Path) -> Path:
    found = sorted(folder.glob("*.safetensors"))
    if (folder / WEIGHTS).is_file():
        return folder / WEIGHTS
    if len(found) == 1:
        return found[0]
    if found:
        raise Gpt2Error(f"{folder} holds {len(found)} safetensors files: name one of them")
    raise Gpt2Error(f"there is no {WEIGHTS} in {folder}: name a folder or a file with weights")


def _from_hub(name: str) -> Path:
    """Return the hub's cached model, and download missing files, with the hub's own progress."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _hub_errors(name):
        try:
            paths = [hf_hub_download(name, file, local_files_only=True) for file in _FILES]
            return Path(paths[0])
        except LocalEntryNotFoundError:
            _ask_once(name)
        try:
            paths = [hf_hub_download(name, file) for file in _FILES]
            return Path(paths[0])
        except LocalEntryNotFoundError:
            raise
        except EntryNotFoundError as error:
            raise Gpt2Error(
                f"{name} on the hub lacks one of {', '.join(_FILES)}: name another model"
            ) from error


_FILES = (WEIGHTS, CONFIG, TOKENIZER)


def _ask_once(name: str) -> None:
    """Ask once, without repeating the question for half a minute if there is no network."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    get_hf_file_metadata(hf_hub_url(name, CONFIG))


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Turn errors of the hub and the network into one sentence."""
    from huggingface_hub import errors

    try:
        yield
    except errors.HFValidationError as error:
        raise Gpt2Error(
            f"{name!r} is not a folder or a file, and cannot be a model's name on the hub"
        ) from error
    except errors.GatedRepoError as error:
        raise Gpt2Error(f"{name} is not open to everybody: name another model") from error
    except errors.RepositoryNotFoundError as error:
        raise Gpt2Error(
            f"there is no folder {name} here, and no model of that name on the hub: check the name"
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise Gpt2Error(f"{name} on the hub lacks {CONFIG}: name another model") from error
    except (Gpt2Error, KeyboardInterrupt):
        raise
    except Exception as error:  # any library can carry the requests, and fail in any way
        raise NotThere(
            f"{name} cannot be downloaded: without a network, name a folder with --weights, "
            "or try --tiny"
        ) from error


def read(file: Path, names: Names = GPT2) -> Model:
    """Return the model with its weights in that file, and its config.json beside it."""
    path = file.with_name(CONFIG)
    if not path.is_file():
        raise Gpt2Error(
            f"there is no {CONFIG} beside {file}: it says how many heads there are, "
            "which the weights do not"
        )
    config = names.read_config(path)
    return Model(config, names.check_tensors(_tensors(file), config, str(file)), file.parent)


def _tensors(file: Path) -> dict[str, Array]:
    """Return all floating-point tensors in a safetensors file.

    NumPy has no bfloat16, so a file with such numbers, once it is known to be whole, is read here.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), "numpy") as opened:
            names = list(opened.keys())
            kinds = {opened.get_slice(name).get_dtype() for name in names}
            if "BF16" not in kinds:
                return {name: opened.get_tensor(name) for name in names}
        return dict(read_arrays(np.memmap(file, np.uint8, mode="r")))
    except SafetensorError as error:
        raise Gpt2Error(
            f"{file} is not a whole safetensors file (an interrupted download?): get it again"
        ) from error
    except OSError as error:
        raise Gpt2Error(f"{file} cannot be read: {error.strerror or error}") from error
