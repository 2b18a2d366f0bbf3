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

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from grader.intake import notebooks
from grader.intake.filenames import kind_of, module_name, step_meant
from grader.intake.folders_and_zips import File, Parts, SubmissionError, Tree
from grader.intake.notebooks import MAX_NOTEBOOK, Notebook, Room
from grader.intake.submission import MAX_SOURCE, Submission, choose_modules, read_text, refusal
from grader.isolation.survey import Binding, is_untouched, survey
from grader.report.sanitize import list_names
from grader.steps.registry import Registry, Step

MAX_READ = 400  # files
MAX_TOLD = 20
NOTHING = "it holds no notebook and none of the files {} … {}."
DEFINING = ("function", "class", "value")


class Rank(IntEnum):
    """The order in which candidates count."""

    FILE = 0  # a source file that is named after the step
    NOTEBOOK = 1  # a notebook that is named after it
    OTHER = 2  # one with another name
    BROKEN = 3  # a file that is named after the step, and cannot be read
    STUB = 4  # one in which no function of the step is written
    CALLED = 5  # a source that is only called like the step: it uses it, or defines none of it


@dataclass(frozen=True)
class Candidate:
    """A file that may hold a step: its text, or why it cannot be read."""

    file: File
    rank: Rank
    text: str = field(repr=False)


class _Reading:
    """One hand-in, while it is being read. held: what each file holds, or why it is not known."""

    def __init__(self, tree: Tree, registry: Registry) -> None:
        self.registry = registry
        self.notes = tree.notes
        self.unread = tree.unread
        files = [one for one in tree.find_files() if kind_of(one.name) and not one.is_kits()]
        self.meant = {file: step_meant(file.name, registry) for file in files}
        files.sort(key=lambda file: self.meant[file] is None)
        self.held: dict[File, str | Notebook | SubmissionError] = {}
        self.left: dict[File, str] = {}  # files that may be work, and why they are not read
        self._read_all(files)
        self.bound: dict[File, list[Binding]] = {}
        self.sources: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.roots: set[Parts] = set()

    def _read_all(self, files: Sequence[File]) -> None:
        """Read the files. Together they may hold only so much."""
        room, size = Room(), 0
        for number, file in enumerate(files):
            try:
                if number >= MAX_READ or size > 8 * MAX_SOURCE or room.left < 0:
                    raise SubmissionError("the files before it are too many, or too large")
                if kind_of(file.name) == "notebook":
                    data, name = file.read(MAX_NOTEBOOK + 1), "/".join(file.path)
                    self.held[file] = book = notebooks.read(data, name, self.registry, room)
                    self.notes += book.warnings
                    if not file.is_kits(["notebooks"]):
                        self.left[file] = "it has no function of any step"
                else:
                    self.held[file] = text = read_text(file)
                    size += len(text)
                    if text.strip():
                        step = self.meant[file]
                        self.left[file] = (
                            f"it defines no function of step {step.number}"
                            if step
                            else "it is not beside a step, and defines no function of a step that "
                            "is missing"
                        )
            except SubmissionError as error:
                self.held[file] = error
                self.left[file] = str(error)

    def _list_candidates(self, step: Step) -> list[Candidate]:
        named = [file for file in self.held if self.meant[file] == step]
        alone = sum(kind_of(file.name) == "source" for file in named) == 1
        found = []
        for file, holds in self.held.items():
            if isinstance(holds, Notebook):
                if step.id in holds.sources:
                    rank = Rank.NOTEBOOK if file in named else Rank.OTHER
                    rank = rank if step.id in holds.written else Rank.STUB
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
            if uses := self._binds(file, step, ("module",)):
                self.left.pop(file, None)
            if uses or not self._binds(file, step, (*DEFINING, "import")):
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
            for one in candidates:
                if one.rank < Rank.CALLED:
                    self.left.pop(one.file, None)
            try:
                chosen = self._choose(step, candidates)
            except SubmissionError as error:
                self.refused[step.id] = str(error)
                continue
            self.left.pop(chosen.file, None)
            self.sources[step.id] = chosen.text
            self.roots.add(chosen.file.spot.path)
            if kind_of(chosen.file.name) == "source" and chosen.file.name != step.filename:
                as_other.setdefault(chosen.file, []).append(step.filename)
        for file, steps in as_other.items():
            self.notes.append(f"{file.shown} is read as {list_names(steps)}.")
        modules = self._find_modules()
        self.unread |= {file.shown: why for file, why in self.left.items()}
        return modules

    def _choose(self, step: Step, candidates: Sequence[Candidate]) -> Candidate:
        """Return the candidate that counts. Raise SubmissionError with the reason if none does.

        The others are noted, unless they are stubs or have the same code.
        """
        first = min(one.rank for one in candidates)
        best = [one for one in candidates if one.rank == first]
        chosen = min(best, key=lambda one: (one.file.name != step.filename, one.file.path))
        if first == Rank.BROKEN:
            raise SubmissionError(best[0].text)
        ranks = {Rank.FILE, Rank.NOTEBOOK, Rank.OTHER, first} - {Rank.STUB}
        written = [one for one in candidates if one.rank in ranks]
        code = {one.file: notebooks.find_code(one.text, step).rstrip() for one in written}
        others = [one for one in written if code[one.file] != code[chosen.file]]
        if any(one.rank == first for one in others):
            told = list_names([one.file.shown for one in best])
            raise SubmissionError(f"{step.filename} could be any of {told}: keep one of them.")
        self.notes += [one.text for one in candidates if one.rank == Rank.BROKEN]
        if others:
            told = list_names([one.file.shown for one in others])
            self.notes.append(f"{step.id} is taken from {chosen.file.shown}; it is also in {told}.")
        return chosen

    def _find_modules(self) -> dict[str, str]:
        """Return the other source files beside steps, and below: the student's own modules."""
        own: dict[str, dict[str, str]] = {}
        for file, text in self.held.items():
            around = [root for root in self.roots if file.path[: len(root)] == root]
            root = max(around, key=len, default=None)
            name = "" if root is None else module_name(file.path[len(root) :], self.registry)
            if name and isinstance(text, str):
                own.setdefault(name, {}).setdefault(text, file.shown)
                self.left.pop(file, None)
        modules, unread = choose_modules(own)
        self.unread |= unread
        return modules


def read_tree(student: str, tree: Tree, registry: Registry) -> Submission:
    """Return the submission in these files. Raise SubmissionError if it cannot be graded."""
    reading = _Reading(tree, registry)
    modules, unread = reading.read(), [*reading.unread]
    told = [f"{name} is not read: {reason}." for name, reason in reading.unread.items()]
    if not reading.sources:
        why = [*dict.fromkeys(reading.refused.values()), *told] or [
            NOTHING.format(registry.steps[0].filename, registry.steps[-1].filename)
        ]
        raise SubmissionError(" ".join(why[:4]).rstrip("."))
    untouched = all(is_untouched(reading.sources[id], registry.find(id)) for id in reading.sources)
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
