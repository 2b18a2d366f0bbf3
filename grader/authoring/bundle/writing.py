"""Write the bundle: compute the books of answers once, then write a folder and its zip.

A book holds the answers of known mistakes to the visible checks (see `grader.diagnosis.lookup`).
Right code and every mistake are put to the checks as submissions. Each check's answers of a mistake
are stored from the first wrong one on.
"""

import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from grader.answer_key.variants import MISTAKES, read
from grader.authoring.bundle.contents import MARK
from grader.authoring.pools import start_pool
from grader.diagnosis.lookup import RIGHT, describe_call, is_same
from grader.engine.grading import Grader, make_grader
from grader.engine.kit_digest import kit_digest
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.isolation.client import CallFailed
from grader.report.files import put, replacing
from grader.report.problem import Problem
from grader.steps import registry as registry_module
from grader.steps.registry import Step

NAME = "nopeek"
Notes = dict[str, list[Any]]


def _ask(grader: Grader, submission: Submission, step: Step) -> Notes:
    """Return what code answers in each check; nothing if it does not end."""
    try:
        _, log = grader.find_causes(submission, step)
    except CallFailed:
        return {}
    return {check: list(map(describe_call, log.of(check))) for check in log.spans if log.whole}


def _find_wrong(answers: Notes, right: Mapping[str, list[Any]]) -> Notes:
    """Return the place of the first wrong answer in each check, and the answers from there on."""
    wrong = {}
    for check, found in answers.items():
        places = (n for n, both in enumerate(zip(found, right[check])) if not is_same(*both))
        if (place := next(places, None)) is not None:
            wrong[check] = [place, found[place:]]
    return wrong


def _make_book(step: Step) -> tuple[str, bytes]:
    """Return the id and the book of one step, in a separate process."""
    registry, known = registry_module.load(), []
    with start_host(Process(), registry.limits) as host:
        grader = make_grader(registry, host, "visible", 0, [step], thorough=False)
        right = _ask(grader, Submission("right", grader.right), step)
        for variant in read(MISTAKES, step):
            if wrong := _find_wrong(_ask(grader, variant.submission, step), right):
                about = {name: getattr(variant, name) for name in ("id", "says", "hint")}
                known.append({**about, "replaced": list(variant.replacements), "wrong": wrong})
    data = json.dumps({RIGHT: right, "known": known}, separators=(",", ":"))
    return step.id, gzip.compress(data.encode(), 9, mtime=0)  # the same bytes for the same data


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
