"""Read one student's hand-in, wherever its files are, into a Submission.

**Search.** Files are looked for up to four folders down. A zip is read like a folder, and so is a
zip in a zip. No link is followed. Unchanged files of the kit itself are skipped.

**Candidates.** A step's candidates are the files whose names mean it
(`grader/intake/filenames.py`), and the notebooks that define one of its functions. If there are
none, they are the other source files that define one.

**Choice.** A written candidate goes before a stub, then a file named after the step before a
notebook named after it, and both before any other. If one candidate is left, or all have the same
code, it counts. Otherwise the step is not gradable, and all of them are named.

**Modules.** Other source files beside a step that counts, and in folders below it, are the
student's own modules. A source, a notebook or an archive that is not read is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from grader.intake import notebooks
from grader.intake.filenames import (
    is_notebook,
    list_names,
    may_be_work,
    module_name,
    stem_of,
    step_meant,
)
from grader.intake.folders import Place, SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK
from grader.intake.notebooks import Notebook, Room
from grader.intake.search import File, Path, Tree
from grader.intake.submission import (
    MARK,
    MAX_SOURCE,
    OwnModules,
    Submission,
    decode_source,
    refusal,
)
from grader.isolation.survey import Binding, is_untouched, survey
from grader.steps.registry import Registry, Step

MAX_SOURCES = 400
MAX_NOTEBOOKS = 40
MAX_TOLD = 20
DEFINING = ("function", "class", "value")


@dataclass(frozen=True)
class Candidate:
    """A file that may hold a step. reason: why it cannot be read.

    kind: 0 for a file that is named after the step, 1 for such a notebook, 2 for any other file.
    sure: whether it is known to be for the step, not only called like it.
    """

    file: File
    kind: int
    text: str = field(default="", repr=False)
    written: bool = False
    sure: bool = True
    reason: str = ""

    def find_code(self, step: Step) -> str:
        """Return its text; of a notebook, only the cells that define a function of the step."""
        if not is_notebook(self.file.name):
            return self.text
        mark = MARK.partition("{")[0]
        lines = notebooks.find_code(self.text, step).split("\n")
        return "\n".join(line for line in lines if line and not line.startswith(mark))


class _Reading:
    """One hand-in, while it is being read."""

    def __init__(self, tree: Tree, registry: Registry) -> None:
        self.tree = tree
        self.registry = registry
        self.room = Room()
        self.sources: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.notes: list[str] = []
        self.used: set[Path] = set()  # files that something is known about
        files = [file for file in tree.files if not file.is_kits()]
        self.books = dict(self._read_books([one for one in files if is_notebook(one.name)]))
        self.texts = dict(self._read_texts([one for one in files if stem_of(one.name)]))
        self.bound: dict[File, list[Binding]] = {}
        self.named: dict[str, list[File]] = {}
        for file in (*self.texts, *self.books):
            if step := step_meant(file.name, registry):
                self.named.setdefault(step.id, []).append(file)
        self.roots: set[Path] = set()
        self.modules: dict[str, str] = {}

    def _read_books(
        self, files: Sequence[File]
    ) -> Iterator[tuple[File, Notebook | SubmissionError]]:
        """Yield the notebooks, or why they cannot be read."""
        if len(files) > MAX_NOTEBOOKS:
            raise SubmissionError(f"it holds more than {MAX_NOTEBOOKS} notebooks")
        for file in files:
            try:
                data = file.place.read(file.name, MAX_NOTEBOOK + 1)
                book = notebooks.read(data, "/".join(file.path), self.registry, self.room)
                self.notes += book.warnings
                yield file, book
            except SubmissionError as error:
                yield file, error

    def _read_texts(self, files: Sequence[File]) -> Iterator[tuple[File, str | SubmissionError]]:
        """Yield the source files, or why they cannot be read; those of steps come first."""
        size = 0
        files = sorted(files, key=lambda file: step_meant(file.name, self.registry) is None)
        for number, file in enumerate(files):
            try:
                if number >= MAX_SOURCES or size > 8 * MAX_SOURCE:
                    raise SubmissionError("there are too many source files")
                text = decode_source(file.place.read(file.name, MAX_SOURCE + 1))
                size += len(text)
                yield file, text
            except SubmissionError as error:
                yield file, error

    def _list_candidates(self, step: Step) -> list[Candidate]:
        named = self.named.get(step.id, [])
        sources = [file for file in named if file in self.texts]
        found = [self._read_named(step, file, len(sources) == 1) for file in sources]
        for file, book in self.books.items():
            kind = 1 if file in named else 2
            if isinstance(book, SubmissionError):
                reason = refusal(file.shown, book)
                found += [Candidate(file, kind, reason=reason)] if kind == 1 else []
            elif step.id in book.sources:
                written = book.written[step.id] > 0
                found.append(Candidate(file, kind, book.sources[step.id], written))
        if found:
            return found
        return [
            Candidate(file, 2, text, True)
            for file, text in self.texts.items()
            if isinstance(text, str) and step_meant(file.name, self.registry) is None
            if self._binds(file, step, DEFINING)
        ]

    def _binds(self, file: File, step: Step, kinds: Sequence[str]) -> bool:
        """Return whether a source file binds a function of a step, or imports from the step."""
        if file not in self.bound:
            found = survey(str(self.texts[file]))
            self.bound[file] = [one for one in found.bindings if one.written]
        names = {f"exercises.{step.id}", *(function.name for function in step.functions)}
        return any(one.kind in kinds and one.name in names for one in self.bound[file])

    def _read_named(self, step: Step, file: File, alone: bool) -> Candidate:
        """Return a candidate by its name. A file that imports from the step only uses it.

        The only file, if it has exactly the step's name, is it, so it is not surveyed.
        """
        text = self.texts[file]
        if isinstance(text, SubmissionError):
            return Candidate(file, 0, reason=refusal(file.shown, text))
        if is_untouched(text, step):
            return Candidate(file, 0, text)
        if alone and file.name == step.filename:
            return Candidate(file, 0, text, True)
        uses = self._binds(file, step, ("module",))
        self.used |= {file.path} if uses else set()
        sure = not uses and self._binds(file, step, (*DEFINING, "import"))
        return Candidate(file, 0, text, True, sure)

    def read(self) -> None:
        """Choose each step's file, and find the student's own modules."""
        as_other: dict[File, list[str]] = {}
        for step in self.registry.steps:
            candidates = self._list_candidates(step)
            if not candidates:
                continue
            self.used.update(one.file.path for one in candidates if one.sure)
            chosen = _choose(step, candidates)
            if isinstance(chosen, str):
                self.refused[step.id] = chosen
                continue
            self.used.add(chosen.file.path)
            self.sources[step.id] = chosen.text
            self.roots.add(chosen.file.folder)
            if chosen.file in self.texts and chosen.file.name != step.filename:
                as_other.setdefault(chosen.file, []).append(step.filename)
            self._note_others(step, chosen, candidates)
        for file, steps in as_other.items():
            self.notes.append(f"{file.shown} is read as {list_names(steps)}.")
        self._find_modules()

    def _note_others(self, step: Step, chosen: Candidate, candidates: Sequence[Candidate]) -> None:
        """Name the candidates that do not count, unless they are stubs or have the same code."""
        self.notes += [one.reason for one in candidates if one.reason]
        code = chosen.find_code(step)
        others = [
            one.file.shown
            for one in candidates
            if one.sure and one.written and one.file != chosen.file and one.find_code(step) != code
        ]
        if others:
            told = list_names(others)
            self.notes.append(f"{step.id} is taken from {chosen.file.shown}; it is also in {told}.")

    def _find_modules(self) -> None:
        """Take the other source files beside steps, and below, as the student's own modules."""
        own = OwnModules()
        for file, text in self.texts.items():
            around = [root for root in self.roots if file.folder[: len(root)] == root]
            root = max(around, key=len, default=None)
            name = "" if root is None else module_name(file.path[len(root) :], self.registry)
            if name:
                own.offer(name, file.shown, text)
                self.used.add(file.path)
            elif not str(text).strip():
                self.used.add(file.path)
        self.modules = own.take()
        self.tree.unread |= own.unread

    def list_unread(self) -> dict[str, str]:
        """Return the files that may be work and are not read, with the reason."""
        found = dict(self.tree.unread)
        for file, what in (*self.texts.items(), *self.books.items()):
            empty = isinstance(what, Notebook) and file.is_kits(["notebooks"])
            if file.path not in self.used and not empty:
                found[file.shown] = self._explain(file, what)
        return found

    def _explain(self, file: File, what: object) -> str:
        """Return why a file is not read. what: what it holds, or why that is not known."""
        if isinstance(what, SubmissionError):
            return str(what)
        if is_notebook(file.name):
            return "it has no function of any step"
        if step := step_meant(file.name, self.registry):
            return f"it defines no function of step {step.number}"
        return "it is not beside a step, and defines no function of a step that is missing"


def _choose(step: Step, candidates: Sequence[Candidate]) -> Candidate | str:
    """Return the candidate that counts, or the reason why none does."""
    sure = [one for one in candidates if one.sure] or candidates
    written = [one for one in sure if one.written]
    best = [one for one in written if one.kind == min(each.kind for each in written)]
    if len({one.find_code(step) for one in best}) > 1:
        told = list_names([one.file.shown for one in best])
        return f"{step.filename} could be any of {told}: keep one of them."
    broken = [one.reason for one in sure if one.reason]
    if broken and not best:
        return broken[0]
    chosen = min(best or sure, key=lambda one: (one.file.name != step.filename, one.file.path))
    too_long = len(chosen.text.encode()) > MAX_SOURCE
    return refusal(chosen.file.shown, "its code is too long") if too_long else chosen


def submission(
    student: str, place: Place, registry: Registry, others: Sequence[tuple[Path, Place]] = ()
) -> Submission:
    """Return the submission in a place. Raise SubmissionError if it cannot be graded.

    others: more places of the same hand-in, with their paths.
    """
    with ExitStack() as until:
        tree = Tree(until)
        tree.add(place)
        for path, other in others:
            tree.add(other, path)
        reading = _Reading(tree, registry)
        reading.read()
    unread = reading.list_unread()
    if not reading.sources:
        why = [f"{name}: {reason}." for name, reason in unread.items()]
        refused = dict.fromkeys(reading.refused.values())
        told = [*refused, *why] if refused or reading.books else [_nothing(registry), *why]
        raise SubmissionError(" ".join(told[:4]).rstrip("."))
    steps = map(registry.find, reading.sources)
    untouched = all(is_untouched(reading.sources[step.id], step) for step in steps)
    if untouched and unread and not reading.refused:
        raise SubmissionError(
            f"its step files are untouched, but {list_names([*unread])} may hold work: keep only "
            "what counts"
        )
    told = [f"{name} is not read: {reason}." for name, reason in unread.items()]
    more = [f"{len(told) - MAX_TOLD} more files are not read."] if len(told) > MAX_TOLD else []
    notes = dict.fromkeys([*reading.notes, *told[:MAX_TOLD], *more])
    return Submission(
        student, reading.sources, reading.refused, tuple(notes), reading.modules, tuple(unread)
    )


def _nothing(registry: Registry) -> str:
    first, last = registry.steps[0].filename, registry.steps[-1].filename
    return f"it holds no notebook and none of the files {first} … {last}."


def find_times(place: Place) -> Iterator[tuple[Place, tuple[int, ...]]]:
    """Yield when each file that may be work was last changed, and the place that it is in.

    Raise SubmissionError if the files cannot be listed.
    """
    with ExitStack() as until:
        tree = Tree(until)
        tree.add(place)
        for file in tree.files:
            if may_be_work(file.name):
                yield file.place, file.place.modified(file.name)
