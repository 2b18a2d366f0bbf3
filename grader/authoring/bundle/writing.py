"""Write the bundle: compute the books of answers once, then write a folder and its zip."""

import io
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path

from grader.authoring.bundle.answering import book
from grader.authoring.bundle.contents import MARK
from grader.authoring.pools import start_pool
from grader.engine.grading import make_grader
from grader.engine.kit_digest import kit_digest
from grader.isolation import Process, start_host
from grader.report.files import put, replacing
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.registry import Step

NAME = "nopeek"


def _make_book(step: Step) -> tuple[str, bytes]:
    """Return the id and the book of one step, in a separate process."""
    registry = registry_module.load()
    with start_host(Process(), registry.limits) as host:
        grader = make_grader(registry, host, "visible", 0, [step], thorough=False)
        return step.id, book(grader, step)


def answers(steps: Sequence[Step], cache: Path) -> dict[str, bytes]:
    """Return the books by step. `cache` holds those that were made for this kit before."""
    kept = cache / kit_digest()
    kept.mkdir(parents=True, exist_ok=True)
    # The longest first, because none of them can be divided.
    missing = [step for step in reversed(steps) if not (kept / step.id).is_file()]
    with start_pool() as pool:
        for done in as_completed([pool.submit(_make_book, step) for step in missing]):
            name, data = done.result()
            _replace(kept / name, data)
    return {step.id: (kept / step.id).read_bytes() for step in steps}


def _replace(path: Path, data: bytes) -> None:
    with replacing(path) as beside:
        beside.write_bytes(data)


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return one zip of all files, in a folder of the bundle's name."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name, data in files.items():
            put(file, f"{NAME}/{name}", data)
    return whole.getvalue()


def write(files: Mapping[str, bytes], out: Path) -> tuple[Path, Path]:
    """Write the folder and the zip into `out`, and return their paths.

    Replace an older bundle there. Raise Problem if the folder is anything else.
    """
    folder, archive = out / NAME, out / f"{NAME}.zip"
    if folder.exists() and not (folder / MARK).is_file():
        raise Problem(f"{folder} is not a bundle: name another folder with --out")
    new = out / f".{NAME}.new"
    shutil.rmtree(new, ignore_errors=True)
    for name, data in files.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    shutil.rmtree(folder, ignore_errors=True)
    new.replace(folder)
    _replace(archive, zip_files(files))
    return folder, archive
