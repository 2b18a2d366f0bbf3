"""Read one student's hand-in, wherever its files are, into a Submission.

**Search.** Files are looked for up to four folders down. A zip is read like a folder, and so is a
zip in a zip. No link is followed. Unchanged files of the kit itself are skipped.

**Candidates.** A step's candidates are the files whose names mean it
(`grader/intake/filenames.py`), and the notebooks that define one of its functions. If there are
none, they are the other source files that define one.

**Choice.** `Rank` has the order of the candidates. If one is left in the first rank, or all have
the same code, it counts. Otherwise the step is not gradable, and all of them are named.

**Modules.** Other source files beside a step that counts, and in folders below it, are the
student's own modules. A source, a notebook or an archive that is not read is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from grader.intake import notebooks
from grader.intake.filenames import is_notebook, list_names, module_name, stem_of, step_meant
from grader.intake.folders import SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK, Room
from grader.intake.notebooks import Notebook
from grader.intake.search import File, Path, Tree
from grader.intake.submission import (
    MAX_SOURCE,
    Submission,
    choose_modules,
    read_text,
    refusal,
)
from grader.isolation.survey import Binding, is_untouched, survey
from grader.steps.registry import Registry, Step

MAX_READ = 400  # files
MAX_TOLD = 20
DEFINING = ("function", "class", "value")


class Rank(IntEnum):
    """The order in which candidates count."""

    FILE = 0
    """A source file that is named after the step."""
    NOTEBOOK = 1
    """A notebook that is named after the step."""
    OTHER = 2
    """A notebook or a source file with another name."""
    BROKEN = 3
    """A file that is named after the step, and cannot be read."""
    STUB = 4
    """A file in which no function of the step is written yet."""
    CALLED = 5
    """A source file that is named after the step, but uses it, or defines none of its functions."""


@dataclass(frozen=True)
class Candidate:
    """A file that may hold a step: its text, or why it cannot be read."""

    file: File
    rank: Rank
    text: str = field(repr=False)

    def find_code(self, step: Step) -> str:
        """Return its text; of a notebook, only the cells that define a function of the step."""
        return notebooks.find_code(self.text, step).rstrip()


class _Reading:
    """One hand-in, while it is being read. held: what each file holds, or why it is not known."""

    def __init__(self, tree: Tree, registry: Registry) -> None:
        self.registry = registry
        self.notes = tree.notes
        self.unread = tree.unread
        found = [one for one in tree.find_files() if stem_of(one.name) or is_notebook(one.name)]
        files = [file for file in found if not file.is_kits()]
        self.meant = {file: step_meant(file.name, registry) for file in files}
        files.sort(key=lambda file: self.meant[file] is None)
        self.held = dict(zip(files, self._read_all(files), strict=True))
        self.bound: dict[File, list[Binding]] = {}
        self.used: set[Path] = set()  # files that something is known about
        self.sources: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.roots: set[Path] = set()

    def _read_all(self, files: Sequence[File]) -> Iterator[str | Notebook | SubmissionError]:
        """Yield what the files hold. Together they may hold only so much."""
        room, size = Room(), 0
        for number, file in enumerate(files):
            try:
                if number >= MAX_READ or size > 8 * MAX_SOURCE:
                    raise SubmissionError("there are too many source files")
                if is_notebook(file.name):
                    data = file.read(MAX_NOTEBOOK + 1)
                    book = notebooks.read(data, "/".join(file.path), self.registry, room)
                    self.notes += book.warnings
                    yield book
                else:
                    text = read_text(file)
                    size += len(text)
                    yield text
            except SubmissionError as error:
                yield error

    def _list_candidates(self, step: Step) -> list[Candidate]:
        named = [file for file in self.held if self.meant[file] == step]
        alone = sum(not is_notebook(file.name) for file in named) == 1
        found = []
        for file, holds in self.held.items():
            if isinstance(holds, Notebook):
                if step.id in holds.sources:
                    rank = Rank.NOTEBOOK if file in named else Rank.OTHER
                    rank = rank if holds.written[step.id] else Rank.STUB
                    found.append(Candidate(file, rank, holds.sources[step.id]))
            elif file in named:
                found.append(self._rank_named(step, file, holds, alone))
        return found or [
            Candidate(file, Rank.OTHER, text)
            for file, text in self.held.items()
            if isinstance(text, str) and not self.meant[file] and self._binds(file, step, DEFINING)
        ]

    def _rank_named(
        self, step: Step, file: File, holds: str | SubmissionError, alone: bool
    ) -> Candidate:
        """Return a candidate by its name. A file that imports from the step only uses it.

        The only source file, if it has exactly the step's name, is it, so it is not surveyed.
        """
        if isinstance(holds, SubmissionError):
            return Candidate(file, Rank.BROKEN, refusal(file.shown, holds))
        rank = Rank.FILE
        if is_untouched(holds, step):
            rank = Rank.STUB
        elif not (alone and file.name == step.filename):
            if self._binds(file, step, ("module",)):
                self.used.add(file.path)
                rank = Rank.CALLED
            elif not self._binds(file, step, (*DEFINING, "import")):
                rank = Rank.CALLED
        return Candidate(file, rank, holds)

    def _binds(self, file: File, step: Step, kinds: Sequence[str]) -> bool:
        """Return whether a source file binds a function of a step, or imports from the step."""
        if file not in self.bound:
            found = survey(str(self.held[file]))
            self.bound[file] = [one for one in found.bindings if one.written]
        names = {f"exercises.{step.id}", *(function.name for function in step.functions)}
        return any(one.kind in kinds and one.name in names for one in self.bound[file])

    def read(self) -> dict[str, str]:
        """Choose each step's file. Return the student's own modules."""
        as_other: dict[File, list[str]] = {}
        for step in self.registry.steps:
            candidates = self._list_candidates(step)
            if not candidates:
                continue
            self.used.update(one.file.path for one in candidates if one.rank < Rank.CALLED)
            try:
                chosen = _choose(step, candidates)
            except SubmissionError as error:
                self.refused[step.id] = str(error)
                continue
            self.used.add(chosen.file.path)
            self.sources[step.id] = chosen.text
            self.roots.add(chosen.file.spot.path)
            if not is_notebook(chosen.file.name) and chosen.file.name != step.filename:
                as_other.setdefault(chosen.file, []).append(step.filename)
            self._note_others(step, chosen, candidates)
        for file, steps in as_other.items():
            self.notes.append(f"{file.shown} is read as {list_names(steps)}.")
        modules = self._find_modules()
        self._list_unread()
        return modules

    def _note_others(self, step: Step, chosen: Candidate, candidates: Sequence[Candidate]) -> None:
        """Name the candidates that do not count, unless they are stubs or have the same code."""
        self.notes += [one.text for one in candidates if one.rank == Rank.BROKEN]
        written = [one for one in candidates if one.rank < Rank.BROKEN and one != chosen]
        code = chosen.find_code(step)
        if others := [one.file.shown for one in written if one.find_code(step) != code]:
            told = list_names(others)
            self.notes.append(f"{step.id} is taken from {chosen.file.shown}; it is also in {told}.")

    def _find_modules(self) -> dict[str, str]:
        """Return the other source files beside steps, and below: the student's own modules."""
        own: dict[str, dict[str, str]] = {}
        for file, text in self.held.items():
            around = [root for root in self.roots if file.path[: len(root)] == root]
            root = max(around, key=len, default=None)
            name = "" if root is None else module_name(file.path[len(root) :], self.registry)
            if name and isinstance(text, str):
                own.setdefault(name, {}).setdefault(text, file.shown)
                self.used.add(file.path)
        modules, unread = choose_modules(own)
        self.unread |= unread
        return modules

    def _list_unread(self) -> None:
        """Note the files that may be work and are not read, with the reason."""
        for file, holds in self.held.items():
            is_empty = isinstance(holds, str) and not holds.strip()
            is_kits = isinstance(holds, Notebook) and file.is_kits(["notebooks"])
            if file.path not in self.used and not is_empty and not is_kits:
                self.unread.setdefault(file.shown, self._explain(file))

    def _explain(self, file: File) -> str:
        """Return why a file is not read."""
        if isinstance(error := self.held[file], SubmissionError):
            return str(error)
        if is_notebook(file.name):
            return "it has no function of any step"
        if step := self.meant[file]:
            return f"it defines no function of step {step.number}"
        return "it is not beside a step, and defines no function of a step that is missing"


def _choose(step: Step, candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that counts. Raise SubmissionError with the reason if none does."""
    first = min(one.rank for one in candidates)
    best = [one for one in candidates if one.rank == first]
    chosen = min(best, key=lambda one: (one.file.name != step.filename, one.file.path))
    if first == Rank.BROKEN:
        raise SubmissionError(best[0].text)
    if first != Rank.STUB and len({one.find_code(step) for one in best}) > 1:
        told = list_names([one.file.shown for one in best])
        raise SubmissionError(f"{step.filename} could be any of {told}: keep one of them.")
    if len(chosen.text.encode()) > MAX_SOURCE:
        raise SubmissionError(refusal(chosen.file.shown, "its code is too long"))
    return chosen


def read_tree(student: str, tree: Tree, registry: Registry) -> Submission:
    """Return the submission in these files. Raise SubmissionError if it cannot be graded."""
    reading = _Reading(tree, registry)
    modules, unread = reading.read(), [*reading.unread]
    told = [f"{name} is not read: {reason}." for name, reason in reading.unread.items()]
    if not reading.sources:
        why = [*dict.fromkeys(reading.refused.values()), *told] or [_nothing(registry)]
        raise SubmissionError(" ".join(why[:4]).rstrip("."))
    steps = map(registry.find, reading.sources)
    untouched = all(is_untouched(reading.sources[step.id], step) for step in steps)
    if untouched and unread and not reading.refused:
        raise SubmissionError(
            f"its step files are untouched, but {list_names(unread)} may hold work: keep only "
            "what counts"
        )
    more = [f"{len(told) - MAX_TOLD} more files are not read."] if len(told) > MAX_TOLD else []
    notes = dict.fromkeys([*reading.notes, *told[:MAX_TOLD], *more])
    return Submission(
        student, reading.sources, reading.refused, tuple(notes), modules, tuple(unread)
    )


def _nothing(registry: Registry) -> str:
    first, last = registry.steps[0].filename, registry.steps[-1].filename
    return f"it holds no notebook and none of the files {first} … {last}."
