"""Find the files of a published model: on the hub, or in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.demos.training.weights import CONFIG, TOKENIZER, WEIGHTS
from grader.report.problem import Problem

FILES = (WEIGHTS, CONFIG, TOKENIZER)


class NotThere(Problem):
    """The weights are not available, because there is no network."""


def locate(name: str) -> Path:
    """Return the weights' file for a file, its folder, or a model on the hub."""
    path = Path(name).expanduser()
    if path.is_dir():
        found = sorted(path.glob("*.safetensors"))
        if (path / WEIGHTS).is_file() or len(found) == 1:
            return path / WEIGHTS if (path / WEIGHTS).is_file() else found[0]
        raise Problem(f"there is no {WEIGHTS} in {path}: name a folder or a file with weights")
    if path.exists():
        return path
    if path.suffix or path.is_absolute() or name.startswith(".") or name.count("/") > 1:
        raise Problem(f"there is no folder or file {name}: name one, or a model on the hub")
    with _hub_errors(name):
        return _from_hub(name)


def _from_hub(name: str) -> Path:
    """Return the hub's cached model, and download missing files, with the hub's own progress."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        paths = [hf_hub_download(name, file, local_files_only=True) for file in FILES]
    except LocalEntryNotFoundError:
        # Ask once, and do not repeat the question for half a minute if there is no network.
        get_hf_file_metadata(hf_hub_url(name, CONFIG))
        paths = [hf_hub_download(name, file) for file in FILES]
    return Path(paths[0])


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Turn errors of the hub and the network into one sentence."""
    from huggingface_hub import errors

    said = {
        errors.HFValidationError: f"{name!r} is not a folder or a file, and cannot be a model's "
        "name on the hub",
        errors.GatedRepoError: f"{name} is not open to everybody: name another model",
        errors.RepositoryNotFoundError: f"there is no folder {name} here, and no model of that "
        "name on the hub: check the name",
        errors.RemoteEntryNotFoundError: f"{name} on the hub lacks one of {', '.join(FILES)}: "
        "name another model",
    }
    try:
        yield
    except Exception as error:  # any library can carry the requests, and fail in any way
        for kind, told in said.items():
            if isinstance(error, kind):
                raise Problem(told) from error
        raise NotThere(
            f"{name} cannot be downloaded: without a network, name a folder with --weights, "
            "or try --tiny"
        ) from error
