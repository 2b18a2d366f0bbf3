"""The command `handin`: zip the exercises under the right names, and write a receipt."""

import codecs
import datetime
import hashlib
import zipfile
from pathlib import Path

import click

from grader.cli.hosts import open_host
from grader.cli.options import PATH, submission_option
from grader.cli.paths import find_misnamed, is_begun, read_submission, show_path
from grader.engine.grading import make_grader
from grader.intake.filenames import module_path
from grader.intake.submission import Submission, find_encoding
from grader.isolation.survey import is_unfinished
from grader.report.files import put, read_notes, replacing, write_whole
from grader.report.problem import Problem
from grader.report.records import say_outside
from grader.report.sanitize import one_line
from grader.steps.paths import ROOT
from grader.steps.registry import Registry, load

TEXTS = ROOT / "course.json"  # what an instructor has put into the bundle


@click.command("handin")
@submission_option
@click.option("--out", type=PATH, default=Path("handin.zip"), help="Where to write the zip.")
def handin(submission: Path, out: Path) -> None:
    """Write a zip to hand in, and a receipt with its hash and the time."""
    registry = load()
    found = read_submission(submission, registry)
    if not found.sources:
        why = "; ".join(found.refused.values())
        what = f"no step that can be read: {why}" if why else "no step yet"
        raise Problem(f"{show_path(submission)} holds {what}")
    for reason in found.refused.values():
        raise Problem(f"not handed in: {reason} Fix it first")
    written = [step for step in registry.steps if is_begun(found, step)]
    if not written:
        raise Problem(_say_untouched(submission, registry))
    receipt = _pack(found, out)
    write_whole(out.with_suffix(".receipt.txt"), [receipt])
    for warning in found.warnings:
        click.echo(f"note: {one_line(warning, 200)}")
    unwritten = [
        str(step.number)
        for step in registry.steps
        if step.id not in found.sources or is_unfinished(found.sources[step.id], step)
    ]
    if unwritten:
        click.echo(f"not finished or missing: step {', '.join(unwritten)}")
    with open_host(registry) as host:
        grader = make_grader(registry, host, "visible", 0, written, thorough=False)
        outside = say_outside(grader.grade(found, written).steps)
    if outside:
        click.echo(one_line(outside, 1000))
    click.echo(receipt)
    how = read_notes(TEXTS).get("handin") or f"Hand in {out} as it is: do not rename what is in it."
    click.echo(one_line(str(how), 2000))


def _say_untouched(folder: Path, registry: Registry) -> str:
    """Return that there is nothing to hand in, and a file that may have the wrong name."""
    told = f"nothing is handed in: {show_path(folder)} holds nothing but stubs"
    if folder.is_dir():
        for step in registry.steps:
            if other := find_misnamed(folder, step, registry):
                return f"{told}, and {other}. Did you mean {step.filename}? Rename it"
    return told


def _encode(text: str) -> bytes:
    """Return a file that `decode_source` reads as this text, which may name its own encoding."""
    data = text.encode("utf-8", "replace")
    try:
        name = find_encoding(data)
        return text.encode(name) if name != "utf-8-sig" else data
    except ValueError:
        return codecs.BOM_UTF8 + data


def _pack(found: Submission, out: Path) -> str:
    """Write the zip, and return the receipt for the student, with this computer's time."""
    texts = {f"{name}.py": text for name, text in sorted(found.sources.items())}
    texts |= {module_path(name, found.modules): text for name, text in found.modules.items()}
    with replacing(out) as whole, zipfile.ZipFile(whole, "w") as file:
        for name, text in texts.items():
            put(file, name, _encode(text))
    when = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    hashes = {"zip: ": hashlib.sha256(out.read_bytes()).hexdigest(), "work:": found.sha256}
    lines = [f"sha256 of the {of} {digest}\n" for of, digest in hashes.items()]
    return "".join([f"{out.name}, made {when}\n", *lines])
