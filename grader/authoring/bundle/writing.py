"""Write the bundle: compute the books of answers once, then write a folder and its zip."""

from __future__ import annotations

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
from grader.report.files import put
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.registry import Step

NAME = "nopeek"


def _make_book(name: str) -> tuple[str, bytes]:
    """Return the book of one step, in a separate process."""
    registry = registry_module.load()
    step = registry.find(name)
    with start_host(Process(), registry.limits) as workers:
        return name, book(
            make_grader(registry, workers, "visible", 0, [step], thorough=False), step
        )


def answers(steps: Sequence[Step], cache: Path, jobs: int | None = None) -> dict[str, bytes]:
    """Return the books by step. `cache` holds those that were made for this kit before."""
    kept = cache / kit_digest()
    kept.mkdir(parents=True, exist_ok=True)
    missing = [step.id for step in steps if not (kept / step.id).is_file()]
    # The longest first, because none of them can be divided.
    missing.sort(key=lambda name: -int(name[4:6]))
    with start_pool(jobs) as pool:
        for done in as_completed([pool.submit(_make_book, name) for name in missing]):
            name, data = done.result()
            (kept / f"{name}.new").write_bytes(data)
            (kept / f"{name}.new").replace(kept / name)
    return {step.id: (kept / step.id).read_bytes() for step in steps}


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
    archive.with_suffix(".zip.new").write_bytes(zip_files(files))
    shutil.rmtree(folder, ignore_errors=True)
    new.replace(folder)
    archive.with_suffix(".zip.new").replace(archive)
    return folder, archive
