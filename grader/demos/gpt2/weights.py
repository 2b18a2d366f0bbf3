"""Find the files of a published model: on the hub, or in a folder."""

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
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    """Return the hub's model, after downloading what is missing, with the hub's own progress.

    Without a network, return what was downloaded before.
    """
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
