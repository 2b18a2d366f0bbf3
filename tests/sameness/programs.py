"""List all programs of the corpora as data that any commit's kit can judge."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from grader.answer_key import variants
from tests.conftest import ROOT, STEPS
from tests.corpora import hostile
from tests.corpora.handins import HANDINS
from tests.support.written_notebooks import RIGHT_ONES, WRONG_ONES, Written

UNSEEN = ROOT / "tests" / "corpora" / "unseen"
# Judged step by step, in both suites; and as entries of a class, by the command of instructors.
PROGRAMS = ("solutions", "right", "fair", "wrong", "mistakes", "lazy")
ENTRIES = ("hostile", "handins", "notebooks")
CORPORA = (*PROGRAMS, *ENTRIES)


@dataclass(frozen=True)
class Program:
    """One program of a corpus: its files, texts of steps or bytes of an entry, and steps' ids."""

    corpus: str
    name: str
    steps: tuple[str, ...]
    files: dict[str, bytes] = field(repr=False)

    @property
    def digest(self) -> str:
        """The digest of all that a verdict on it depends on, besides the kit."""
        state = hashlib.sha256("\0".join([self.corpus, self.name, *self.steps]).encode())
        for name, data in sorted(self.files.items()):
            state.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        return state.hexdigest()[:24]


def list_programs(corpora=CORPORA, steps=()):
    """Return the programs of these corpora; of these steps only, if any are given."""
    found = [one for corpus in corpora for one in READERS[corpus](corpus)]
    return [one for one in found if not steps or not {*steps}.isdisjoint(one.steps)]


def _read_solutions(corpus):
    files = {step.filename: (ROOT / "solutions" / step.filename).read_bytes() for step in STEPS}
    return [Program(corpus, "solutions", tuple(step.id for step in STEPS), files)]


def _read_folders(corpus):
    """Programs in folders of their own, written without knowledge of the kit."""
    for folder in sorted((UNSEEN / corpus).iterdir()):
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "why.txt" and "__pycache__" not in path.parts
        }
        steps = tuple(step.id for step in STEPS if step.filename in files)
        yield Program(corpus, folder.name, steps, files)


def _read_variants(corpus):
    """Solutions with one function replaced, by a known mistake or another right way."""
    folder = variants.MISTAKES if corpus == "mistakes" else variants.FAIR
    for step in STEPS:
        for one in variants.read(folder, step):
            yield Program(corpus, one.name, (step.id,), {step.filename: one.source.encode()})


def _read_attacks(corpus):
    for one in hostile.attacks():
        source = one.source.replace(hostile.MARK, hostile.NAME)  # which differs from run to run
        files = {one.step.filename: source.encode("utf-8", "surrogatepass")}
        yield Program(corpus, one.name, (one.step.id,), files)


def _read_handins(corpus):
    for name, (steps, files) in HANDINS.items():
        yield Program(corpus, name, steps, files)


def _read_notebooks(corpus):
    for path in (*RIGHT_ONES, *WRONG_ONES):
        one, name = Written.read(path), f"{path.parent.name}_{path.stem}"
        steps = tuple(STEPS[int(number) - 1].id for number in one.steps)
        yield Program(corpus, name, steps, {f"{path.stem}.ipynb": one.data})


READERS = {
    "solutions": _read_solutions,
    "right": _read_folders,
    "wrong": _read_folders,
    "lazy": _read_folders,
    "fair": _read_variants,
    "mistakes": _read_variants,
    "hostile": _read_attacks,
    "handins": _read_handins,
    "notebooks": _read_notebooks,
}


def write_files(folder: Path, program: Program) -> None:
    """Write a program's files into a folder."""
    for name, data in program.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
